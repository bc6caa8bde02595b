// Loops of sines whose length is data: 4 lanes of a warp run 64 rounds and 28 run 8. The special-function unit takes a warp's time for four
// lanes, so it is nearly full and three quarters of it is wasted: divergence first, then the unit itself.
#include "../evidence.cuh"

constexpr int THREADS = 256, SHORT = 8, LONG = 64;

__global__ void sfu_divergent(const int* __restrict__ length, float* __restrict__ y) {
  const size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  const int rounds = length[i];
  float a = float(i % 5) * 0.1f, b = a + 0.25f, c = a + 0.5f, d = a + 0.75f;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    a = __sinf(a);
    b = __cosf(b);
    c = __sinf(c);
    d = __cosf(d);
  }
  y[i] = (a + b) + (c + d);
}

int main() {
  const int blocks = sm_count() * 8 * 16;
  auto* length = device_array<int>(size_t(blocks) * THREADS, [](size_t i) { return i * 2654435761u % 8 == 0 ? LONG : SHORT; });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { sfu_divergent<<<blocks, THREADS>>>(length, y); });
  bool same = true;
  for (size_t i = 4320; i < 4336; ++i) {
    double a = float(i % 5) * 0.1f, b = a + 0.25, c = a + 0.5, d = a + 0.75;
    for (int round = 0; round < peek(length, i); ++round) {
      a = std::sin(a);
      b = std::cos(b);
      c = std::sin(c);
      d = std::cos(d);
    }
    same &= close_to(peek(y, i), a + b + c + d, 1e-2);
  }
  return finish(same);
}
