// The cure of fma_chain: the series has a closed form, ten squarings and a division for each factor in place of 1,024 FMAs. FMA pipe
// time falls fiftyfold, and 8 bytes an element (138 MB, 0.03 ms) become the limit.
#include "../evidence.cuh"

constexpr int THREADS = 256, SQUARINGS = 10, QUADS = 2;  // 2^10 payments

static __device__ __forceinline__ float annuity(float x, float term) {
  float power = x;
#pragma unroll
  for (int i = 0; i < SQUARINGS; ++i) power *= power;
  return term * __fdividef(1.f - power, 1.f - x);
}

__global__ void fma_reduced(const float4* __restrict__ factor, float4* __restrict__ y, float term) {
  size_t i = size_t(blockIdx.x) * THREADS * QUADS + threadIdx.x;
  float4 x[QUADS];
#pragma unroll
  for (int q = 0; q < QUADS; ++q) x[q] = factor[i + q * THREADS];
#pragma unroll
  for (int q = 0; q < QUADS; ++q)
    y[i + q * THREADS] = make_float4(annuity(x[q].x, term), annuity(x[q].y, term), annuity(x[q].z, term), annuity(x[q].w, term));
}

int main() {
  int blocks = sm_count() * 8 * 8;
  size_t count = size_t(blocks) * THREADS * QUADS;
  auto discount = [](size_t i) { return 0.9f + 0.0999f * float(i % 1000) / 1000; };
  auto* factor = device_array<float>(count * 4, discount);
  auto* y = device_zeros<float>(count * 4);
  launch_twice([&] { fma_reduced<<<blocks, THREADS>>>(reinterpret_cast<float4*>(factor), reinterpret_cast<float4*>(y), 3.f); });
  double x = discount(654321);
  return finish(close_to(peek(y, 654321), 3 * (1 - std::pow(x, 1 << SQUARINGS)) / (1 - x)));
}
