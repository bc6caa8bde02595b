// Each lane runs a loop of its own length, from data: a warp lasts as long as its longest lane, with the others masked off.
#include "../evidence.cuh"

constexpr int THREADS = 256;

__global__ void divergent_branches(const int* __restrict__ length, float* __restrict__ y) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float a = 1.f;
  int steps = length[i];
#pragma unroll 1
  for (int step = 0; step < steps; ++step) a = a * 0.5f + 1.f;
  y[i] = a;
}

int main() {
  size_t count = size_t(sm_count()) * 8 * THREADS * 8;
  auto* length = device_array<int>(count, [](size_t i) { return i % 32 == 5 ? 2048 : 64 + int(i % 32); });
  auto* y = device_zeros<float>(count);
  launch_twice([&] { divergent_branches<<<count / THREADS, THREADS>>>(length, y); });
  return finish(close_to(peek(y, 4321), 2.0));
}
