// Dependent loads at full occupancy over a table larger than the L2: every warp waits for its own last load.
#include "../evidence.cuh"

constexpr int THREADS = 256, STEPS = 48;
constexpr size_t TABLE = size_t(1) << 26;  // int: 256 MiB

__global__ void pointer_chase(const int* __restrict__ offset, int* __restrict__ y) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  unsigned at = unsigned(i * 2654435761u) & unsigned(TABLE - 1);
  for (int step = 0; step < STEPS; ++step) at = (at * 1664525u + unsigned(offset[at])) & unsigned(TABLE - 1);
  y[i] = int(at) + 1;
}

int main() {
  int blocks = sm_count() * 8;
  auto* offset = device_array<int>(TABLE, [](size_t i) { return int((i * 22695477 + 1) % TABLE); });
  auto* y = device_zeros<int>(size_t(blocks) * THREADS);
  launch_twice([&] { pointer_chase<<<blocks, THREADS>>>(offset, y); });
  return finish(peek(y, 4321) >= 1);
}
