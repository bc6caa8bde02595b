// Cosine transform by definition with the cosines in constant memory. The 32 lanes of a warp ask for 32 addresses, k entries apart: the
// indexed constant cache serves one address a cycle, and 64 KB do not fit it. Per SM 65,536 indexed loads of 32 addresses are 2.1 million
// cycles of that cache when all hit; reading x (16,384 loads that hit L1) and the arithmetic need less than a tenth of them.
#include "../evidence.cuh"

constexpr int N = 16384, THREADS = 512, WARPS = THREADS / 32, AT_ONCE = 4;  // 64 KB of cosines: all the constant memory there is

static __constant__ float cosines[N];

// y[i] = sum over n of x[n] cos(2 pi k n / N) with k = 2 i + 1; a warp makes AT_ONCE values of y.
__global__ void constant_scattered(const float* __restrict__ x, float* __restrict__ y) {
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
  std::vector<float> host(N);
  for (int i = 0; i < N; ++i) host[i] = cosine(i);
  CUDA_CHECK(cudaMemcpyToSymbol(cosines, host.data(), sizeof(cosines)));
  auto* x = device_array<float>(N, [&](size_t i) { return 1.f + cosine(5 * i) + 0.5f * cosine(7 * i); });
  auto* y = device_zeros<float>(size_t(blocks) * WARPS * AT_ONCE);
  launch_twice([&] { constant_scattered<<<blocks, THREADS>>>(x, y); });
  return finish(close_to(peek(y, 2), N / 2.) && close_to(peek(y, 3), N / 4.) && std::fabs(peek(y, 9)) < 1);
}
