// Segment sum with the same work for everyone: rows and segment ends form one list of T + S items, in which the end of a segment stands
// behind its last row, and every worker gets ITEMS of them. Row r of segment s is item r + s, the end of segment s item offsets[s + 1] + s.
// A segment of up to ITEMS rows belongs to the worker in whose items it begins. A longer one is added in pieces, one a worker, and a
// second kernel adds the pieces in order.
// A worker is LANES lanes, each with one access of columns; nothing crosses lanes.
// Defines: DTYPE (FP32, BF16 or FP16), ALIGNED (1: every row starts on 16 bytes and is a multiple of them long), LANES (power of two, up
// to 32), ITEMS, UNROLL (rows in flight), THREADS.

#define FP32 0
#define BF16 1
#define FP16 2

#if DTYPE == FP32
typedef float Element;
__device__ float widen(Element value) { return value; }
__device__ Element narrow(float value) { return value; }
__device__ void widen_word(unsigned word, float* out) { out[0] = __uint_as_float(word); }
__device__ unsigned narrow_word(const float* in) { return __float_as_uint(in[0]); }
#else
typedef unsigned short Element;  // bits of a 16-bit float
#if DTYPE == BF16
__device__ float widen(Element value) { return __uint_as_float(static_cast<unsigned>(value) << 16); }
#define PACK "cvt.rn.bf16x2.f32 %0, %1, %2;"
#else
__device__ float widen(Element value) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value));
    return wide;
}
#define PACK "cvt.rn.f16x2.f32 %0, %1, %2;"
#endif
__device__ void widen_word(unsigned word, float* out) {
    out[0] = widen(static_cast<Element>(word & 0xffffu));
    out[1] = widen(static_cast<Element>(word >> 16));
}
__device__ unsigned narrow_word(const float* in) {
    unsigned packed;
    asm(PACK : "=r"(packed) : "f"(in[1]), "f"(in[0]));
    return packed;
}
__device__ Element narrow(float value) {
    const float pair[2] = {value, 0.0f};
    return static_cast<Element>(narrow_word(pair) & 0xffffu);
}
#endif

// WIDTH elements in one access.
#if ALIGNED
typedef uint4 Access;
constexpr int PER_WORD = 4 / sizeof(Element);
constexpr int WIDTH = 4 * PER_WORD;
__device__ Access load(const Element* from) { return __ldcs(reinterpret_cast<const uint4*>(from)); }
__device__ void add(Access raw, float* sum) {
    float value[WIDTH];
    widen_word(raw.x, value);
    widen_word(raw.y, value + PER_WORD);
    widen_word(raw.z, value + 2 * PER_WORD);
    widen_word(raw.w, value + 3 * PER_WORD);
#pragma unroll
    for (int e = 0; e < WIDTH; ++e) sum[e] += value[e];
}
__device__ void store(Element* to, const float* sum) {
    __stcs(reinterpret_cast<uint4*>(to), make_uint4(narrow_word(sum), narrow_word(sum + PER_WORD), narrow_word(sum + 2 * PER_WORD),
                                                    narrow_word(sum + 3 * PER_WORD)));
}
#else
typedef Element Access;
constexpr int WIDTH = 1;
__device__ Access load(const Element* from) { return *from; }
__device__ void add(Access raw, float* sum) { sum[0] += widen(raw); }
__device__ void store(Element* to, const float* sum) { *to = narrow(sum[0]); }
#endif

// How many segments between low and high end before this item; the keys offsets[s + 1] + s rise strictly.
__device__ int ends_before(const int* __restrict__ offsets, long long item, int low, int high) {
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if ((long long)__ldg(offsets + middle + 1) + middle < item) low = middle + 1;
        else high = middle;
    }
    return low;
}

// `heads` and `tails`: (workers, cols) float32, the piece of a long segment that ends in a worker's items, and of one that goes on behind
// them. `closed`: (workers), the long segment that ends there, or -1.
extern "C" __global__ void __launch_bounds__(THREADS)
segment_sum_items(const Element* __restrict__ values, const int* __restrict__ offsets, Element* __restrict__ y, float* __restrict__ heads,
                  float* __restrict__ tails, int* __restrict__ closed, int rows, int cols, int segments, long long pitch, int slices) {
    const long long unit = ((long long)blockIdx.x * THREADS + threadIdx.x) / LANES;
    const long long worker = unit / slices;
    const long long first_item = worker * ITEMS, items = (long long)rows + segments;
    if (first_item >= items) return;
    const long long end_item = min(first_item + ITEMS, items);
    const int lane = threadIdx.x % LANES, slice = static_cast<int>(unit - worker * slices);
    const int col = (slice * LANES + lane) * WIDTH;
    const bool mine = col < cols;

    int segment = ends_before(offsets, first_item, 0, segments);
    int open = ends_before(offsets, end_item, segment, min(segment + ITEMS, segments));  // the first that does not end here
    int row = static_cast<int>(first_item - segment);
    int begin = __ldg(offsets + segment), stop = __ldg(offsets + segment + 1);
    int long_head = -1;
    if ((long long)begin + segment < first_item) {  // it began in the items of another worker
        if (stop - begin > ITEMS) {
            if (open > segment) long_head = segment;
        } else {
            row = stop;  // the other worker sees it to its end
            ++segment;
            stop = segment < segments ? __ldg(offsets + segment + 1) : 0;
        }
    }
    int end_row = rows;
    bool long_tail = false;
    if (open < segments) {
        const int open_begin = __ldg(offsets + open), open_stop = __ldg(offsets + open + 1);
        if ((long long)open_begin + open >= end_item) end_row = open_begin;
        else if (open_stop - open_begin > ITEMS) {
            end_row = static_cast<int>(end_item - open);
            long_tail = true;
        } else {
            end_row = open_stop;  // begun here, so finished here
            ++open;
        }
    }

    float sum[WIDTH] = {};
    auto close = [&] {
        if (mine && segment == long_head) {
            for (int e = 0; e < WIDTH; ++e) heads[worker * cols + col + e] = sum[e];
        } else if (mine) {
            store(y + (long long)segment * cols + col, sum);
        }
        for (int e = 0; e < WIDTH; ++e) sum[e] = 0.0f;
        ++segment;
        stop = segment < segments ? __ldg(offsets + segment + 1) : 0;
    };
    const Element* from = values + (long long)row * pitch + col;
    for (; row < end_row; row += UNROLL, from += UNROLL * pitch) {
        Access raw[UNROLL];  // loaded without regard to where segments end
#pragma unroll
        for (int k = 0; k < UNROLL; ++k)
            if (mine && row + k < end_row) raw[k] = load(from + k * pitch);
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) {
            if (row + k >= end_row) break;
            while (segment < open && row + k == stop) close();  // empty segments follow each other here
            if (mine) add(raw[k], sum);
        }
    }
    while (segment < open) close();
    if (long_tail && mine)
        for (int e = 0; e < WIDTH; ++e) tails[worker * cols + col + e] = sum[e];
    if (lane == 0 && slice == 0) closed[worker] = long_head;
}

// Adds the pieces of long segments. A block looks at 32 workers, and at 32 columns for each segment that ends in one of them; its warps
// take every WARPS-th piece and are added in order.
extern "C" __global__ void __launch_bounds__(THREADS)
segment_sum_pieces(const int* __restrict__ offsets, const float* __restrict__ heads, const float* __restrict__ tails,
                   const int* __restrict__ closed, Element* __restrict__ y, int workers, int cols) {
    constexpr int WARPS = THREADS / 32;
    __shared__ float parts[WARPS][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int watched = blockIdx.x * 32 + lane;
    const int segment_of_lane = watched < workers ? __ldg(closed + watched) : -1;
    const int col = blockIdx.y * 32 + lane;
    for (unsigned ending = __ballot_sync(0xffffffffu, segment_of_lane >= 0); ending != 0; ending &= ending - 1) {
        const int segment = __shfl_sync(0xffffffffu, segment_of_lane, __ffs(ending) - 1);
        const int last = blockIdx.x * 32 + __ffs(ending) - 1;
        const int first = static_cast<int>(((long long)__ldg(offsets + segment) + segment) / ITEMS);
        float sum = 0.0f;
        if (col < cols) {
#pragma unroll 8
            for (int piece = first + warp; piece < last; piece += WARPS) sum += __ldg(tails + (long long)piece * cols + col);
        }
        parts[warp][lane] = sum;
        __syncthreads();
        if (warp == 0 && col < cols) {
            sum = heads[(long long)last * cols + col];
            for (int other = 0; other < WARPS; ++other) sum += parts[other][lane];
            y[(long long)segment * cols + col] = narrow(sum);
        }
        __syncthreads();
    }
}
