// The cure of naive_softmax: one warp a row, 16-byte loads, the row stays in registers, reductions by shuffle.
#include "../evidence.cuh"

constexpr int ROWS = 65536, COLUMNS = 512, VECTORS = COLUMNS / 128;  // float4 a lane

__global__ void softmax_onepass(const float4* __restrict__ x, float4* __restrict__ y) {
  size_t row = size_t(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  size_t base = row * (COLUMNS / 4) + threadIdx.x % 32;
  float4 held[VECTORS];
  float largest = -INFINITY, sum = 0.f;
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) {
    held[i] = x[base + i * 32];
    largest = fmaxf(largest, fmaxf(fmaxf(held[i].x, held[i].y), fmaxf(held[i].z, held[i].w)));
  }
  for (int step = 16; step; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, step));
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) {
    held[i] = make_float4(__expf(held[i].x - largest), __expf(held[i].y - largest), __expf(held[i].z - largest), __expf(held[i].w - largest));
    sum += held[i].x + held[i].y + held[i].z + held[i].w;
  }
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  float scale = 1.f / sum;
#pragma unroll
  for (int i = 0; i < VECTORS; ++i)
    y[base + i * 32] = make_float4(held[i].x * scale, held[i].y * scale, held[i].z * scale, held[i].w * scale);
}

int main() {
  auto* x = device_array<float>(size_t(ROWS) * COLUMNS, [](size_t i) { return float(i % 97) * 0.05f; });
  auto* y = device_zeros<float>(size_t(ROWS) * COLUMNS);
  launch_twice([&] { softmax_onepass<<<ROWS / 8, 256>>>(reinterpret_cast<float4*>(x), reinterpret_cast<float4*>(y)); });
  double sum = 0;
  for (int j = 0; j < COLUMNS; ++j) sum += peek(y, size_t(777) * COLUMNS + j);
  return finish(close_to(sum, 1.0));
}
