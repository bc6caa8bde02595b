// Horner's rule with coefficients in shared memory, one word read by all lanes at a time: a broadcast, one wavefront a request, no conflict
// although all 32 lanes meet one bank. 16 FMA for each read: the FMA pipe is the limit.
#include "../evidence.cuh"

constexpr int DEGREE = 512, THREADS = 256, VALUES = 16;

__global__ __launch_bounds__(THREADS, 4) void shared_broadcast(const float* __restrict__ x, const float* __restrict__ coefficient,
                                                         float* __restrict__ y) {
  __shared__ float held[DEGREE];
  for (int k = threadIdx.x; k < DEGREE; k += THREADS) held[k] = coefficient[k];
  const volatile float* words = held;  // a word an access
  const size_t base = size_t(blockIdx.x) * THREADS * VALUES + threadIdx.x;
  float at[VALUES], value[VALUES];
#pragma unroll
  for (int i = 0; i < VALUES; ++i) {
    at[i] = x[base + i * THREADS];
    value[i] = 0.f;
  }
  __syncthreads();
#pragma unroll 8
  for (int k = 0; k < DEGREE; ++k) {
    const float c = words[k];
#pragma unroll
    for (int i = 0; i < VALUES; ++i) value[i] = fmaf(value[i], at[i], c);
  }
#pragma unroll
  for (int i = 0; i < VALUES; ++i) y[base + i * THREADS] = value[i];
}

int main() {
  const int blocks = sm_count() * 4 * 8;
  const size_t count = size_t(blocks) * THREADS * VALUES, at = count - 77;
  auto* x = device_array<float>(count, [](size_t i) { return float(i % 1013) / 1013.f - 0.5f; });
  auto* coefficient = device_array<float>(DEGREE, [](size_t i) { return float(i % 5) * 0.25f - 0.25f; });
  auto* y = device_zeros<float>(count);
  launch_twice([&] { shared_broadcast<<<blocks, THREADS>>>(x, coefficient, y); });
  double expected = 0;
  for (int k = 0; k < DEGREE; ++k) expected = expected * peek(x, at) + peek(coefficient, k);
  return finish(close_to(peek(y, at), expected));
}
