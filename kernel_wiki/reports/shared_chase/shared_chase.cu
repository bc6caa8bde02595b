// Dependent loads in shared memory with few warps: the short scoreboard, the wait for shared memory, is the longest stall.
#include "../evidence.cuh"

constexpr int THREADS = 128, ENTRIES = 4096, STEPS = 4096;

__global__ void shared_chase(const int* __restrict__ next, int* __restrict__ y) {
  __shared__ int table[ENTRIES];
  for (int j = threadIdx.x; j < ENTRIES; j += THREADS) table[j] = next[j];
  __syncthreads();
  int at = threadIdx.x;
  for (int step = 0; step < STEPS; ++step) at = table[at];
  y[blockIdx.x * THREADS + threadIdx.x] = at + 1;
}

int main() {
  int blocks = sm_count() * 4;
  auto* next = device_array<int>(ENTRIES, [](size_t i) { return int((i + 32) % ENTRIES); });  // a warp stays on 32 banks
  auto* y = device_zeros<int>(size_t(blocks) * THREADS);
  launch_twice([&] { shared_chase<<<blocks, THREADS>>>(next, y); });
  return finish(peek(y, 77) == 77 + 1);  // 4096 steps of 32 are whole turns
}
