// Running volume of a trading day: an inclusive prefix sum over 2^20 ticks by ONE block, so 131 of 132 SMs stay idle; the 8 MiB of traffic
// would take 2 us on the whole chip, this takes some 600. Second: the block scans 1024 ticks at a time in ten doubling steps with two barriers
// each (22 barriers a round in all, for ten additions); the next tick is fetched ahead, so memory latency is hidden and the barriers are what remains.
#include "../evidence.cuh"

constexpr int TICKS = 1 << 20, THREADS = 1024;

__global__ __launch_bounds__(THREADS) void blind_scan_one_block(const unsigned* __restrict__ volume, unsigned* __restrict__ running, int ticks) {
  __shared__ unsigned partial[THREADS];
  int lane = threadIdx.x;
  unsigned carry = 0, ahead = volume[lane];
  for (int base = 0; base < ticks; base += THREADS) {
    unsigned value = ahead;
    if (base + THREADS + lane < ticks) ahead = volume[base + THREADS + lane];
    partial[lane] = value;
    __syncthreads();
    for (int offset = 1; offset < THREADS; offset *= 2) {
      unsigned left = lane >= offset ? partial[lane - offset] : 0;
      __syncthreads();
      value += left;
      partial[lane] = value;
      __syncthreads();
    }
    running[base + lane] = carry + value;
    carry += partial[THREADS - 1];
    __syncthreads();
  }
}

static unsigned traded(size_t i) { return unsigned(i * 2654435761u >> 7) % 1000 + 1; }

int main() {
  auto* volume = device_array<unsigned>(TICKS, traded);
  auto* running = device_zeros<unsigned>(TICKS);
  launch_twice([&] { blind_scan_one_block<<<1, THREADS>>>(volume, running, TICKS); });
  bool ok = true;
  unsigned sum = 0;
  for (int i = 0; i < TICKS; ++i) {
    sum += traded(i);
    if (i == 0 || i == 77777 || i == TICKS - 1) ok = ok && peek(running, i) == sum;
  }
  return finish(ok);
}
