// Row argmax by groups of 16 bytes. The loop keeps, for each thread, the largest value seen and the number of the group that it came from;
// which element of the winning group it was is looked up once, at the end of the row.
// Groups are cut at aligned addresses, so that the first and the last of a row may be partial and all others are one 16-byte load.
// Defines: DTYPE (FP32 or BF16), THREADS (multiple of 32), UNROLL (16-byte loads in flight per thread), ROWS (short rows a warp).

#define FP32 0
#define BF16 1

typedef unsigned long long Best;  // ordered value above, complement of the group's number below: the maximum is the answer; 0 is nothing

// max.NaN gives the canonical NaN, 0x7fffffff or 0x7fff, if either operand is one.
__device__ float max_nan(float a, float b) {
    float top;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(top) : "f"(a), "f"(b));
    return top;
}

#if DTYPE == FP32
typedef float Element;
__device__ float widen(Element value) { return value; }
__device__ float max_of_vector(uint4 raw) {
    return max_nan(max_nan(__uint_as_float(raw.x), __uint_as_float(raw.y)), max_nan(__uint_as_float(raw.z), __uint_as_float(raw.w)));
}
#else
typedef unsigned short Element;  // bits of a bfloat16: the upper half of a float
__device__ float widen(Element value) { return __uint_as_float(static_cast<unsigned>(value) << 16); }
__device__ unsigned max_nan_pairs(unsigned a, unsigned b) {
    unsigned top;
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(top) : "r"(a), "r"(b));
    return top;
}
__device__ float max_of_vector(uint4 raw) {
    const unsigned pair = max_nan_pairs(max_nan_pairs(raw.x, raw.y), max_nan_pairs(raw.z, raw.w));
    return max_nan(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u));
}
#endif

constexpr int WIDTH = 16 / sizeof(Element);
constexpr int WARPS = THREADS / 32;

// Ordered as argmax orders: NaN on top, -0.0 level with 0.0. No float gives 0.
__device__ unsigned ordered(float value) {
    if (value != value) return 0xffffffffu;
    const int bits = __float_as_int(value + 0.0f);  // -0.0 + 0.0 is 0.0
    return static_cast<unsigned>(bits ^ ((bits >> 31) & 0x7fffffff)) ^ 0x80000000u;
}

struct Row {
    const Element* base;  // of group 0, aligned: `shift` elements before the row
    int shift;
    long long cols;
    __device__ Row(const Element* x_row, long long columns) : cols(columns) {
        shift = static_cast<int>(reinterpret_cast<unsigned long long>(x_row) % 16 / sizeof(Element));
        base = x_row - shift;
    }
    __device__ long long groups() const { return (cols + shift + WIDTH - 1) / WIDTH; }
    __device__ bool holds(long long group, int e) const {
        const long long at = group * WIDTH + e;
        return at >= shift && at < cols + shift;
    }
    __device__ bool whole(long long group) const { return group * WIDTH >= shift && (group + 1) * WIDTH <= cols + shift; }
    // The maximum of the elements of a partial group that belong to the row.
    __device__ float max_of_partial(long long group) const {
        float top = -INFINITY;  // no smaller than any element: never found unless the whole row is -inf
        for (int e = 0; e < WIDTH; ++e)
            if (holds(group, e)) top = max_nan(top, widen(base[group * WIDTH + e]));
        return top;
    }
    // Column of the first element of the group that has this value.
    __device__ long long place(long long group, unsigned value) const {
        for (int e = 0; e < WIDTH; ++e)
            if (holds(group, e) && ordered(widen(base[group * WIDTH + e])) == value) return group * WIDTH + e - shift;
        return -1;
    }
};

// The best of the groups that one thread has met, in rising order: a tie stays with the first.
struct Found {
    unsigned value = 0;
    unsigned group = 0;
    __device__ void meet(float top, long long number) {
        const unsigned key = ordered(top);
        if (key > value) {
            value = key;
            group = static_cast<unsigned>(number);
        }
    }
};

// The best of every step-th group of a part, from start + lane on; lane 0 also meets the partial groups at the ends of the row.
__device__ Found search(const Row& row, long long start, long long end, int lane, int step) {
    Found found;
    const uint4* vectors = reinterpret_cast<const uint4*>(row.base);
    const long long whole_end = min(end, (row.cols + row.shift) / WIDTH);
    const bool cut_start = start == 0 && row.shift > 0;
    if (lane == 0 && cut_start) found.meet(row.max_of_partial(0), 0);
    long long group = start + lane + (lane == 0 && cut_start ? step : 0);
    uint4 raw[UNROLL];
    for (; group + (UNROLL - 1ll) * step < whole_end; group += (long long)UNROLL * step) {
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) raw[k] = __ldg(vectors + group + k * step);  // all issued before the first comparison
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) found.meet(max_of_vector(raw[k]), group + k * step);
    }
#pragma unroll
    for (int k = 0; k < UNROLL - 1; ++k)  // the rest, issued together as well
        if (group + k * step < whole_end) raw[k] = __ldg(vectors + group + k * step);
#pragma unroll
    for (int k = 0; k < UNROLL - 1; ++k)
        if (group + k * step < whole_end) found.meet(max_of_vector(raw[k]), group + k * step);
    if (lane == 0 && whole_end < end) found.meet(row.max_of_partial(whole_end), whole_end);
    return found;
}

// The best of the 32 lanes, in all of them: two integer reductions in hardware.
__device__ Best best_of_warp(Found found) {
    const unsigned value = __reduce_max_sync(0xffffffffu, found.value);
    const unsigned group = __reduce_min_sync(0xffffffffu, found.value == value ? found.group : 0xffffffffu);
    return value == 0 ? 0 : static_cast<Best>(value) << 32 | static_cast<unsigned>(~group);
}

__device__ long long place_of(const Row& row, Best best) {
    return row.place(static_cast<unsigned>(~static_cast<unsigned>(best)), static_cast<unsigned>(best >> 32));
}

// Rows of up to 32 groups, ROWS of them a warp: one load a row and lane, all issued before the first reduction.
extern "C" __global__ void __launch_bounds__(THREADS)
argmax_short_rows(const Element* __restrict__ x, long long* __restrict__ y, int rows, int cols, long long pitch) {
    const int lane = threadIdx.x % 32;
    const long long first = ((long long)blockIdx.x * WARPS + threadIdx.x / 32) * ROWS;
    uint4 raw[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const Row row(x + (first + r) * pitch, cols);
        if (first + r < rows && row.whole(lane)) raw[r] = __ldg(reinterpret_cast<const uint4*>(row.base) + lane);
    }
    Best mine = 0;  // lane r keeps what row r came to
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const Row row(x + (first + r) * pitch, cols);
        Found found;
        if (first + r < rows && lane < row.groups()) found.meet(row.whole(lane) ? max_of_vector(raw[r]) : row.max_of_partial(lane), lane);
        const Best best = best_of_warp(found);
        if (lane == r) mine = best;
    }
    if (lane < ROWS && first + lane < rows) y[first + lane] = place_of(Row(x + (first + lane) * pitch, cols), mine);
}

// Rows of some kilobytes, one warp each.
extern "C" __global__ void __launch_bounds__(THREADS)
argmax_warp_row(const Element* __restrict__ x, long long* __restrict__ y, int rows, int cols, long long pitch) {
    const long long number = (long long)blockIdx.x * WARPS + threadIdx.x / 32;
    if (number >= rows) return;
    const Row row(x + number * pitch, cols);
    const Best best = best_of_warp(search(row, 0, row.groups(), threadIdx.x % 32, 32));
    if (threadIdx.x % 32 == 0) y[number] = place_of(row, best);
}

// Long rows: each block takes `part` groups of a row. The largest of the blocks' bests is found by atomicMax, which gives the same
// answer in any order, and the block that comes last looks up the place. `tops` and `counts` are 0 before the launch and after it.
extern "C" __global__ void __launch_bounds__(THREADS)
argmax_parts(const Element* __restrict__ x, long long* y, Best* tops, unsigned* counts, long long cols, long long pitch, long long part,
             int parts) {
    __shared__ Best bests[WARPS];
    const unsigned number = blockIdx.x / static_cast<unsigned>(parts);
    const long long start = (long long)(blockIdx.x - number * parts) * part;
    const Row row(x + number * pitch, cols);
    const long long end = min(start + part, row.groups());
    const Best mine = best_of_warp(search(row, start, end, threadIdx.x, THREADS));
    if (threadIdx.x % 32 == 0) bests[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x != 0) return;
    Best best = bests[0];
    for (int warp = 1; warp < WARPS; ++warp) best = max(best, bests[warp]);
    if (parts > 1) {
        atomicMax(tops + number, best);
        __threadfence();  // the maximum is there before the count says so
        if (atomicAdd(counts + number, 1u) != parts - 1) return;
        __threadfence();
        best = atomicExch(tops + number, 0ull);
        counts[number] = 0;
    }
    y[number] = place_of(row, best);
}
