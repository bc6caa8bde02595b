// Transpose without shared memory: loads are coalesced, each store of a warp goes to 32 rows, one 32-byte sector for 4 bytes.
#include "../evidence.cuh"

constexpr int N = 8192;  // 256 MiB each way

__global__ void naive_transpose(const float* __restrict__ in, float* __restrict__ out) {
  int column = blockIdx.x * 32 + threadIdx.x;
  int row = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[size_t(column) * N + row + j] = in[size_t(row + j) * N + column];
}

int main() {
  auto* in = device_array<float>(size_t(N) * N, [](size_t i) { return float(i % 9973) + 1.f; });
  auto* out = device_zeros<float>(size_t(N) * N);
  launch_twice([&] { naive_transpose<<<dim3(N / 32, N / 32), dim3(32, 8)>>>(in, out); });
  return finish(peek(out, size_t(4099) * N + 77) == peek(in, size_t(77) * N + 4099));
}
