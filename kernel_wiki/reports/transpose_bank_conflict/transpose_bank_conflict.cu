// Transpose through a 32x32 shared tile without padding: global access is coalesced, but reading a column of the tile puts all
// 32 lanes on one bank.
#include "../evidence.cuh"

constexpr int N = 8192;

__global__ void transpose_bank_conflict(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float tile[32][32];  // row stride of 32 words: a column is one bank
  int column = blockIdx.x * 32 + threadIdx.x;
  int row = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[size_t(row + j) * N + column];
  __syncthreads();
  column = blockIdx.y * 32 + threadIdx.x;
  row = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[size_t(row + j) * N + column] = tile[threadIdx.x][threadIdx.y + j];
}

int main() {
  auto* in = device_array<float>(size_t(N) * N, [](size_t i) { return float(i % 9973) + 1.f; });
  auto* out = device_zeros<float>(size_t(N) * N);
  launch_twice([&] { transpose_bank_conflict<<<dim3(N / 32, N / 32), dim3(32, 8)>>>(in, out); });
  return finish(peek(out, size_t(4099) * N + 77) == peek(in, size_t(77) * N + 4099));
}
