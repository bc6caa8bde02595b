// The cure of issue_scalar: samples stay packed. Three 16-byte shared loads bring the samples of four neighbouring positions, one mask
// clears four flags, and dp4a does four taps of a template: 39 instructions a position in place of 232, with the same whole numbers as
// results. dp4a runs on one half of the FMA pipe, one every two cycles of a scheduler: its 32 take 64 cycles where the twin takes about
// 250. That half is the next limit; issue slots fall to about 60 %.
#include "../evidence.cuh"

constexpr int THREADS = 256, WARPS = THREADS / 32, ITEMS = 4;
constexpr int NEAR = 4, POSITIONS = THREADS * NEAR * ITEMS;        // neighbouring positions of a thread, positions of a block
constexpr int TAPS = 32, FILTERS = 4, HOP = 4, WORDS = TAPS / 4;  // HOP: samples between positions
constexpr int QUADS = (POSITIONS * HOP + TAPS) / 16;              // 16-byte parts of a block's samples
constexpr int WINDOW = (WORDS + NEAR) / 4;                        // those under the templates of one thread
constexpr int LEVEL = 127, LEVELS = 0x7F7F7F7F;                   // of one sample and of four; the top bit is a flag

struct Templates {
  int word[FILTERS][WORDS];  // four taps of eight bits each; a kernel parameter, no load
};

// best[4 b + f] = the largest correlation of template f with the samples of block b.
__global__ __launch_bounds__(THREADS, 4) void issue_packed(const uint4* __restrict__ x, int* __restrict__ best,
                                                           const __grid_constant__ Templates templates) {
  __shared__ uint4 tile[QUADS];
  __shared__ int peaks[WARPS][FILTERS];
  for (int i = threadIdx.x; i < QUADS; i += THREADS) tile[i] = x[size_t(blockIdx.x) * (POSITIONS * HOP / 16) + i];
  __syncthreads();
  int peak[FILTERS] = {};
#pragma unroll 1
  for (int quad = threadIdx.x; quad < POSITIONS / NEAR; quad += THREADS) {
    int window[WINDOW * 4], sum[NEAR][FILTERS] = {};
#pragma unroll
    for (int i = 0; i < WINDOW; ++i) {
      const uint4 part = tile[quad + i];
      window[4 * i] = part.x & LEVELS;
      window[4 * i + 1] = part.y & LEVELS;
      window[4 * i + 2] = part.z & LEVELS;
      window[4 * i + 3] = part.w & LEVELS;
    }
#pragma unroll
    for (int word = 0; word < WORDS; ++word)
#pragma unroll
      for (int f = 0; f < FILTERS; ++f)
#pragma unroll
        for (int near = 0; near < NEAR; ++near) sum[near][f] = __dp4a(window[near + word], templates.word[f][word], sum[near][f]);
#pragma unroll
    for (int near = 0; near < NEAR; ++near)
#pragma unroll
      for (int f = 0; f < FILTERS; ++f) peak[f] = max(peak[f], sum[near][f]);
  }
#pragma unroll
  for (int f = 0; f < FILTERS; ++f) peaks[threadIdx.x / 32][f] = __reduce_max_sync(0xffffffff, peak[f]);
  __syncthreads();
  if (threadIdx.x < FILTERS) {
    int largest = 0;
    for (int warp = 0; warp < WARPS; ++warp) largest = max(largest, peaks[warp][threadIdx.x]);
    best[blockIdx.x * FILTERS + threadIdx.x] = largest;
  }
}

static unsigned char sample(size_t i) { return (unsigned char)((i % PATTERN) * 37 % 251); }
static int tap(int filter, int t) { return 2 * ((t * (t + 2 * filter + 7) / 2 + filter) % 16) - 15; }

int main() {
  const int blocks = sm_count() * 8 * 8;
  auto* x = device_array<unsigned char>(size_t(blocks) * POSITIONS * HOP + TAPS, sample);
  auto* best = device_zeros<int>(size_t(blocks) * FILTERS);
  Templates templates = {};
  for (int f = 0; f < FILTERS; ++f)
    for (int t = 0; t < TAPS; ++t) templates.word[f][t / 4] |= int((unsigned(tap(f, t)) & 255) << (t % 4 * 8));
  launch_twice([&] { issue_packed<<<blocks, THREADS>>>(reinterpret_cast<uint4*>(x), best, templates); });
  const size_t block = 77;
  bool correct = true;
  for (int f = 0; f < FILTERS; ++f) {
    int expected = 0;
    for (size_t position = 0; position < POSITIONS; ++position) {
      int sum = 0;
      for (int t = 0; t < TAPS; ++t) sum += tap(f, t) * int(sample((block * POSITIONS + position) * HOP + t) & LEVEL);
      expected = std::max(expected, sum);
    }
    correct = correct && peek(best, block * FILTERS + f) == expected;
  }
  return finish(correct);
}
