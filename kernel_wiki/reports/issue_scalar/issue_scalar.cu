// Matched filters on 8-bit samples, a sample at a time: a shared load of one byte, a mask for its flag, a conversion and four multiply-
// adds, 232 instructions for the 32 taps of a position. Full issue slots leave the load-store pipe (32 of 232, at a quarter of the issue
// rate), the ALU pipe (68, at half) and the FMA pipe (128) at 55 to 59 % each, and nothing waits: operands are in shared memory and 64
// warps an SM take turns. DRAM reads four bytes a position, a tenth of its peak. 2.5e8 warp instructions are 0.48 million cycles of the
// issue slots.
#include "../evidence.cuh"

constexpr int THREADS = 256, WARPS = THREADS / 32, ITEMS = 16, POSITIONS = THREADS * ITEMS;  // of a block
constexpr int TAPS = 32, FILTERS = 4, HOP = 4;                                               // HOP: samples between positions
constexpr int QUADS = (POSITIONS * HOP + TAPS) / 16;                                         // 16-byte parts of a block's samples
constexpr unsigned LEVELS = 127;                                                             // of a sample; its top bit is a flag

// Tap `t` of a template: odd, none is zero, and known to the compiler, so that it is an immediate operand.
static __host__ __device__ constexpr int tap(int filter, int t) { return 2 * ((t * (t + 2 * filter + 7) / 2 + filter) % 16) - 15; }

// best[4 b + f] = the largest correlation of template f with the samples of block b. `hop` is HOP, which the compiler does not know: it
// finds no alignment by which it could load more than a byte.
__global__ __launch_bounds__(THREADS, 8) void issue_scalar(const uint4* __restrict__ x, int* __restrict__ best, int hop,
                                                           unsigned levels) {
  __shared__ uint4 tile[QUADS];
  __shared__ int peaks[WARPS][FILTERS];
  for (int i = threadIdx.x; i < QUADS; i += THREADS) tile[i] = x[size_t(blockIdx.x) * (POSITIONS * HOP / 16) + i];
  __syncthreads();
  const unsigned char* samples = reinterpret_cast<const unsigned char*>(tile);
  float peak[FILTERS] = {};
#pragma unroll 1
  for (int position = threadIdx.x; position < POSITIONS; position += THREADS) {
    const unsigned char* window = samples + position * hop;
    float sum[FILTERS] = {};
#pragma unroll
    for (int t = 0; t < TAPS; ++t) {
      const float level = float(window[t] & levels);
#pragma unroll
      for (int f = 0; f < FILTERS; ++f) sum[f] += level * float(tap(f, t));
    }
#pragma unroll
    for (int f = 0; f < FILTERS; ++f) peak[f] = fmaxf(peak[f], sum[f]);
  }
#pragma unroll
  for (int f = 0; f < FILTERS; ++f) peaks[threadIdx.x / 32][f] = __reduce_max_sync(0xffffffff, int(peak[f]));
  __syncthreads();
  if (threadIdx.x < FILTERS) {
    int largest = 0;
    for (int warp = 0; warp < WARPS; ++warp) largest = max(largest, peaks[warp][threadIdx.x]);
    best[blockIdx.x * FILTERS + threadIdx.x] = largest;
  }
}

static unsigned char sample(size_t i) { return (unsigned char)((i % PATTERN) * 37 % 251); }

int main() {
  const int blocks = sm_count() * 8 * 8;
  auto* x = device_array<unsigned char>(size_t(blocks) * POSITIONS * HOP + TAPS, sample);
  auto* best = device_zeros<int>(size_t(blocks) * FILTERS);
  launch_twice([&] { issue_scalar<<<blocks, THREADS>>>(reinterpret_cast<uint4*>(x), best, HOP, LEVELS); });
  const size_t block = 77;
  bool correct = true;
  for (int f = 0; f < FILTERS; ++f) {
    int expected = 0;
    for (size_t position = 0; position < POSITIONS; ++position) {
      int sum = 0;
      for (int t = 0; t < TAPS; ++t) sum += tap(f, t) * int(sample((block * POSITIONS + position) * HOP + t) & LEVELS);
      expected = std::max(expected, sum);
    }
    correct = correct && peek(best, block * FILTERS + f) == expected;  // whole numbers below 2^24: exact in floats as well
  }
  return finish(correct);
}
