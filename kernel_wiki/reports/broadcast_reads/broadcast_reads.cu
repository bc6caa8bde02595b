// Horner's rule with coefficients read from global memory, the same word for all lanes: one sector a request and 4 of its 32 bytes used,
// which looks like the worst coalescing there is and costs nothing, since the reads hit L1 and feed 16 FMA each. The FMA pipe is the limit.
#include "../evidence.cuh"

constexpr int DEGREE = 512, THREADS = 256, VALUES = 16;

__global__ __launch_bounds__(THREADS, 4) void broadcast_reads(const float* __restrict__ x, const float* __restrict__ coefficient,
                                                        float* __restrict__ y) {
  const size_t base = size_t(blockIdx.x) * THREADS * VALUES + threadIdx.x;
  float at[VALUES], value[VALUES];
#pragma unroll
  for (int i = 0; i < VALUES; ++i) {
    at[i] = x[base + i * THREADS];
    value[i] = 0.f;
  }
#pragma unroll 8
  for (int k = 0; k < DEGREE; ++k) {
    const float c = coefficient[k];
#pragma unroll
    for (int i = 0; i < VALUES; ++i) value[i] = fmaf(value[i], at[i], c);
  }
#pragma unroll
  for (int i = 0; i < VALUES; ++i) y[base + i * THREADS] = value[i];
}

int main() {
  const int blocks = sm_count() * 4 * 8;
  const size_t count = size_t(blocks) * THREADS * VALUES, at = count - 77;
  auto* x = device_array<float>(count, [](size_t i) { return float(i % 1009) / 1009.f - 0.5f; });
  auto* coefficient = device_array<float>(DEGREE, [](size_t i) { return float(i % 7) * 0.25f - 0.5f; });
  auto* y = device_zeros<float>(count);
  launch_twice([&] { broadcast_reads<<<blocks, THREADS>>>(x, coefficient, y); });
  double expected = 0;
  for (int k = 0; k < DEGREE; ++k) expected = expected * peek(x, at) + peek(coefficient, k);
  return finish(close_to(peek(y, at), expected));
}
