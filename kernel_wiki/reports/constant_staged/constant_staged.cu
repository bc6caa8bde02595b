// The cure of constant_scattered: the cosines are copied into shared memory once a block. k is odd, so 32 entries k apart lie in 32 banks
// and a warp's read is one wavefront instead of 32 constant-cache requests: the cycles of the indexed constant cache should vanish.
#include "../evidence.cuh"

constexpr int N = 16384, THREADS = 512, WARPS = THREADS / 32, AT_ONCE = 4;

// y[i] = sum over n of x[n] cos(2 pi k n / N) with k = 2 i + 1; a warp makes AT_ONCE values of y.
__global__ void constant_staged(const float* __restrict__ x, const float4* __restrict__ table, float* __restrict__ y) {
  extern __shared__ float4 staged[];
  for (int i = threadIdx.x; i < N / 4; i += THREADS) staged[i] = table[i];
  __syncthreads();
  const float* cosines = reinterpret_cast<const float*>(staged);
  const unsigned first = (blockIdx.x * WARPS + threadIdx.x / 32) * AT_ONCE, lane = threadIdx.x % 32;
  float sum[AT_ONCE] = {};
  for (unsigned n = lane; n < N; n += 32) {
    float value = x[n];
#pragma unroll
    for (int j = 0; j < AT_ONCE; ++j) sum[j] += value * cosines[n * (2 * (first + j) + 1) % N];
  }
#pragma unroll
  for (int j = 0; j < AT_ONCE; ++j) {
    for (int step = 16; step; step /= 2) sum[j] += __shfl_xor_sync(0xffffffff, sum[j], step);
    if (lane == 0) y[first + j] = sum[j];
  }
}

int main() {
  int blocks = sm_count() * 2;
  auto cosine = [](size_t i) { return float(std::cos(i * 2 * M_PI / N)); };
  auto* table = device_array<float>(N, cosine);
  auto* x = device_array<float>(N, [&](size_t i) { return 1.f + cosine(5 * i) + 0.5f * cosine(7 * i); });
  auto* y = device_zeros<float>(size_t(blocks) * WARPS * AT_ONCE);
  CUDA_CHECK(cudaFuncSetAttribute(constant_staged, cudaFuncAttributeMaxDynamicSharedMemorySize, N * sizeof(float)));
  launch_twice([&] { constant_staged<<<blocks, THREADS, N * sizeof(float)>>>(x, reinterpret_cast<const float4*>(table), y); });
  return finish(close_to(peek(y, 2), N / 2.) && close_to(peek(y, 3), N / 4.) && std::fabs(peek(y, 9)) < 1);
}
