// The cure of tail_effect: the same outputs by a grid that fits the GPU at once, two blocks of 576 threads an SM with two outputs a thread
// (2 x 576 x 2 = 2,304, the outputs per SM). Every SM ends at the same time, and the FMA pipe is busy from start to end.
#include "../evidence.cuh"

constexpr int THREADS = 576, TWIN_THREADS = 1024, STEPS = 20000;

__global__ __launch_bounds__(THREADS, 2) void tail_cured(float* out, float factor, int count) {
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
    float a = i % TWIN_THREADS + 1.f, b = i / TWIN_THREADS + 1.f;
    for (int step = 0; step < STEPS; ++step) {
      a = a * factor + 0.5f;
      b = b * factor + 0.25f;
    }
    out[i] = a + b;
  }
}

int main() {
  int count = (sm_count() * 2 + sm_count() / 4) * TWIN_THREADS;
  auto* out = device_zeros<float>(count);
  launch_twice([&] { tail_cured<<<sm_count() * 2, THREADS>>>(out, 0.5f, count); });
  return finish(close_to(peek(out, 12345), 1.5));  // fixed points 1 and 0.5
}
