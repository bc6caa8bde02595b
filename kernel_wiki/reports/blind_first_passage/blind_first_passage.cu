// First passage times of 2^20 tick-price walks out of a corridor of +-16 ticks (a knock-out by simulation), a walk a thread, each until it leaves:
// 256 steps on average with an exponential tail, so the slowest of a warp's 32 needs about four times the mean and three lanes of four idle.
// Ten instructions a step, 7 or 8 of them on the integer pipe (two cycles each): 2^15 warps * 1050 steps * 15 cycles / 528 are 0.5 ms; with
// all lanes at work it would be 0.13 ms. DRAM: 4 MiB.
#include "../evidence.cuh"

constexpr int WALKS = 1 << 20, THREADS = 128, CORRIDOR = 16, LONGEST = 1 << 16;

__host__ __device__ inline int passage_time(unsigned walk) {
  unsigned state = (walk ^ 0x9e3779b9u) * 0x85ebca6bu;
  state = (state ^ (state >> 15)) * 0xc2b2ae35u;
  int ticks = 0, step = 0;
  while (ticks > -CORRIDOR && ticks < CORRIDOR && step < LONGEST) {
    state = state * 1664525u + 1013904223u;
    ticks += int(state) < 0 ? -1 : 1;
    ++step;
  }
  return step;
}

__global__ void blind_first_passage(int* __restrict__ steps) {
  unsigned walk = blockIdx.x * THREADS + threadIdx.x;
  steps[walk] = passage_time(walk);
}

int main() {
  auto* steps = device_zeros<int>(WALKS);
  launch_twice([&] { blind_first_passage<<<WALKS / THREADS, THREADS>>>(steps); });
  bool ok = true;
  for (unsigned walk : {0u, 4321u, 999999u, unsigned(WALKS - 1)}) ok = ok && peek(steps, walk) == passage_time(walk);
  return finish(ok);
}
