// The cure of shared_chase: 4,096 dependent reads become 12 doublings of the table (next of next), which a thread makes with 32
// independent reads at a time into registers. The short-scoreboard stall should fall from two thirds of the warp latency to a small part.
#include "../evidence.cuh"

constexpr int THREADS = 128, ENTRIES = 4096, STEPS = 4096, MINE = ENTRIES / THREADS;

// y[i] = 1 + where STEPS steps of at = next[at] lead from at = threadIdx.x.
__global__ void chase_registers(const int* __restrict__ next, int* __restrict__ y) {
  __shared__ int tables[2][ENTRIES];
  int jump[MINE];
#pragma unroll
  for (int j = 0; j < MINE; ++j) jump[j] = next[threadIdx.x + j * THREADS];
#pragma unroll 2
  for (int length = 1, turn = 0; length < STEPS; length *= 2, turn ^= 1) {  // jump[j] is `length` steps from its entry
#pragma unroll
    for (int j = 0; j < MINE; ++j) tables[turn][threadIdx.x + j * THREADS] = jump[j];
    __syncthreads();  // the other table was last read before this barrier: one a doubling is enough
#pragma unroll
    for (int j = 0; j < MINE; ++j) jump[j] = tables[turn][jump[j]];
  }
  y[blockIdx.x * THREADS + threadIdx.x] = jump[0] + 1;  // entry threadIdx.x
}

int main() {
  int blocks = sm_count() * 4;
  auto* next = device_array<int>(ENTRIES, [](size_t i) { return int((i + 32) % ENTRIES); });  // a warp stays on 32 banks
  auto* y = device_zeros<int>(size_t(blocks) * THREADS);
  launch_twice([&] { chase_registers<<<blocks, THREADS>>>(next, y); });
  return finish(peek(y, 77) == 77 + 1);  // 4096 steps of 32 are whole turns
}
