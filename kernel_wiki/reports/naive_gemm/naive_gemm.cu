// fp32 matrix product, one output a thread, operands straight from global memory: two loads for each FMA, so the load-store path
// (L1/TEX) is the limit while the FMA pipe waits.
#include "../evidence.cuh"

constexpr int N = 4096;

__global__ void naive_gemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0.f;
  for (int k = 0; k < N; ++k) sum += a[row * N + k] * b[k * N + column];
  c[row * N + column] = sum;
}

int main() {
  auto* a = device_array<float>(size_t(N) * N, [](size_t i) { return float(i % 13) * 0.125f + 0.25f; });
  auto* b = device_array<float>(size_t(N) * N, [](size_t i) { return float(i % 11) * 0.125f - 0.5f; });
  auto* c = device_zeros<float>(size_t(N) * N);
  launch_twice([&] { naive_gemm<<<dim3(N / 16, N / 16), dim3(16, 16)>>>(a, b, c); });
  double expected = 0;
  for (int k = 0; k < N; ++k) expected += double(peek(a, size_t(37) * N + k)) * peek(b, size_t(k) * N + 1029);
  return finish(close_to(peek(c, size_t(37) * N + 1029), expected));
}
