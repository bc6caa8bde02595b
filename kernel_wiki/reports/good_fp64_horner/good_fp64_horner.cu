// An iterated polynomial map in double precision: four independent values a thread, 256 DFMA for each value loaded and stored. The fp64
// pipe (64 lanes a cycle and SM) is full at half of the issue slots, and a tensor core has no use for it.
#include "../evidence.cuh"

constexpr int DEGREE = 8, ROUNDS = 32, THREADS = 256, VALUES = 4;

struct Coefficients {
  double c[DEGREE + 1];
};

static __host__ __device__ double horner(const Coefficients& p, double x) {
  double value = p.c[DEGREE];
  for (int i = DEGREE - 1; i >= 0; --i) value = fma(value, x, p.c[i]);
  return value;
}

__global__ __launch_bounds__(THREADS) void good_fp64_horner(const double* __restrict__ x, double* __restrict__ y,
                                                    const __grid_constant__ Coefficients p) {
  const size_t base = size_t(blockIdx.x) * THREADS * VALUES + threadIdx.x;
  double value[VALUES];
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
  const int blocks = sm_count() * 8 * 12;
  const size_t count = size_t(blocks) * THREADS * VALUES, at = count - 77;
  Coefficients p;
  for (int i = 0; i <= DEGREE; ++i) p.c[i] = (i % 3 - 0.75) / (i + 2.);
  auto* x = device_array<double>(count, [](size_t i) { return double(i % 1009) / 1009 - 0.5; });
  auto* y = device_zeros<double>(count);
  launch_twice([&] { good_fp64_horner<<<blocks, THREADS>>>(x, y, p); });
  double expected = peek(x, at);
  for (int round = 0; round < ROUNDS; ++round) expected = horner(p, expected);
  return finish(close_to(peek(y, at), expected, 1e-9));
}
