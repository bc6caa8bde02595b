// The cure of naive_transpose and transpose_bank_conflict: one word of padding a row, so that a column of the tile meets 32 banks.
#include "../evidence.cuh"

constexpr int N = 8192;

__global__ void transpose_padded(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float tile[32][33];
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
  launch_twice([&] { transpose_padded<<<dim3(N / 32, N / 32), dim3(32, 8)>>>(in, out); });
  return finish(peek(out, size_t(4099) * N + 77) == peek(in, size_t(77) * N + 4099));
}
