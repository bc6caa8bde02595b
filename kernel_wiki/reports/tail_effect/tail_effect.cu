// A full wave and a quarter of the SMs with one block more: the second wave lasts half as long as the first, with most SMs idle.
#include "../evidence.cuh"

constexpr int THREADS = 1024, STEPS = 20000;  // two such blocks fill an SM of 2,048 threads

__global__ __launch_bounds__(THREADS, 2) void tail_effect(float* out, float factor) {
  float a = threadIdx.x + 1.f, b = blockIdx.x + 1.f;
  for (int i = 0; i < STEPS; ++i) {
    a = a * factor + 0.5f;
    b = b * factor + 0.25f;
  }
  out[blockIdx.x * THREADS + threadIdx.x] = a + b;
}

int main() {
  int blocks = sm_count() * 2 + sm_count() / 4;
  auto* out = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { tail_effect<<<blocks, THREADS>>>(out, 0.5f); });
  return finish(close_to(peek(out, 12345), 1.5));  // fixed points 1 and 0.5
}
