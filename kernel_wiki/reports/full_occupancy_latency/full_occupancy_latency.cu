// Every warp walks its own random path over nodes of 128 bytes in 256 MiB; the next node depends on what was read. Occupancy is full, the
// accesses are coalesced, and still one load of 128 bytes a warp is 8 KB in flight an SM, a quarter of what DRAM's latency asks for.
#include "../evidence.cuh"

constexpr int THREADS = 256, STEPS = 192, LANES = 32;
constexpr unsigned NODES = 1u << 21;  // 256 MiB

static __host__ __device__ unsigned next(unsigned at, unsigned word, unsigned warp) {
  return (at * 1664525u + word + warp * 2654435761u + 1013904223u) % NODES;
}

__global__ __launch_bounds__(THREADS) void full_occupancy_latency(const unsigned* __restrict__ word, unsigned* __restrict__ y) {
  const unsigned thread = blockIdx.x * THREADS + threadIdx.x, warp = thread / LANES, lane = threadIdx.x % LANES;
  unsigned at = warp * 2654435761u % NODES;
  for (int step = 0; step < STEPS; ++step) at = next(at, word[size_t(at) * LANES + lane], warp);
  y[thread] = at;
}

int main() {
  const int blocks = sm_count() * 8 * 2;
  // The words of a node agree, so that the lanes of a warp stay together.
  auto* word = device_array<unsigned>(size_t(NODES) * LANES, [](size_t i) { return unsigned(i / LANES) * 2246822519u >> 3; });
  auto* y = device_zeros<unsigned>(size_t(blocks) * THREADS);
  launch_twice([&] { full_occupancy_latency<<<blocks, THREADS>>>(word, y); });
  unsigned at = 135u * 2654435761u % NODES;
  for (int step = 0; step < STEPS; ++step) at = next(at, peek(word, size_t(at) * LANES), 135);
  return finish(peek(y, 135 * LANES + 5) == at);
}
