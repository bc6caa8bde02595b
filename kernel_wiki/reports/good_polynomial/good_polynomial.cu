// An iterated polynomial map of degree 16 by Horner's rule: eight independent values a thread, coefficients as kernel parameters, 512 FMA
// for each value loaded and stored (8 bytes): the FMA pipe issues nearly every cycle, and DRAM moves a tenth of what it could.
#include "../evidence.cuh"

constexpr int DEGREE = 16, ROUNDS = 32, THREADS = 256, VALUES = 8;

struct Coefficients {
  float c[DEGREE + 1];
};

static __host__ __device__ float horner(const Coefficients& p, float x) {
  float value = p.c[DEGREE];
  for (int i = DEGREE - 1; i >= 0; --i) value = fmaf(value, x, p.c[i]);
  return value;
}

__global__ __launch_bounds__(THREADS) void good_polynomial(const float* __restrict__ x, float* __restrict__ y,
                                                    const __grid_constant__ Coefficients p) {
  const size_t base = size_t(blockIdx.x) * THREADS * VALUES + threadIdx.x;
  float value[VALUES];
#pragma unroll
  for (int i = 0; i < VALUES; ++i) value[i] = x[base + i * THREADS];
#pragma unroll 1
  for (int round = 0; round < ROUNDS; ++round)
#pragma unroll
    for (int i = 0; i < VALUES; ++i) value[i] = horner(p, value[i]);
#pragma unroll
  for (int i = 0; i < VALUES; ++i) y[base + i * THREADS] = value[i];
}

int main() {
  const int blocks = sm_count() * 8 * 8;
  const size_t count = size_t(blocks) * THREADS * VALUES, at = count - 77;
  Coefficients p;
  for (int i = 0; i <= DEGREE; ++i) p.c[i] = (i % 3 - 0.75f) / (i + 2.f);  // stays within the unit interval
  auto* x = device_array<float>(count, [](size_t i) { return float(i % 1009) / 1009.f - 0.5f; });
  auto* y = device_zeros<float>(count);
  launch_twice([&] { good_polynomial<<<blocks, THREADS>>>(x, y, p); });
  float expected = peek(x, at);
  for (int round = 0; round < ROUNDS; ++round) expected = horner(p, expected);
  return finish(close_to(peek(y, at), expected));
}
