// Linked lists of 128-byte nodes at full occupancy over a table larger than the L2: every access is coalesced and every warp waits
// for its own last load.
#include "../evidence.cuh"

constexpr int THREADS = 256, STEPS = 48, LANES = 32;
constexpr size_t NODES = size_t(1) << 21;  // 256 MiB

__global__ void pointer_chase(const int* __restrict__ offset, int* __restrict__ y) {
  const unsigned warp = (blockIdx.x * THREADS + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
  unsigned at = (warp * 2654435761u) % unsigned(NODES);
  for (int step = 0; step < STEPS; ++step)  // the words of a node agree, so the lanes of a warp stay together
    at = (at * 1664525u + unsigned(offset[size_t(at) * LANES + lane])) % unsigned(NODES);
  y[size_t(warp) * LANES + lane] = int(at) + 1;
}

int main() {
  int blocks = sm_count() * 8;
  auto* offset = device_array<int>(NODES * LANES, [](size_t i) { return int((i / LANES * 22695477 + 1) % NODES); });
  auto* y = device_zeros<int>(size_t(blocks) * THREADS);
  launch_twice([&] { pointer_chase<<<blocks, THREADS>>>(offset, y); });
  return finish(peek(y, 4320) >= 1 && peek(y, 4320) == peek(y, 4321));
}
