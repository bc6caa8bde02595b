// Sums of fp32 rows of 8,192: a block a row, eight 16-byte loads a thread, shuffles and one barrier. 415 MB read once and nothing to speak
// of written: DRAM bandwidth alone.
#include "../evidence.cuh"

constexpr int COLUMNS = 8192, THREADS = 256, WARPS = THREADS / 32, VECTORS = COLUMNS / 4 / THREADS;

static __device__ float warp_sum(float value) {
  for (int step = 16; step; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
  return value;
}

__global__ __launch_bounds__(THREADS) void good_rowsum(const float4* __restrict__ x, float* __restrict__ y) {
  __shared__ float part[WARPS];
  const float4* row = x + size_t(blockIdx.x) * (COLUMNS / 4) + threadIdx.x;
  float4 held[VECTORS];
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) held[i] = row[i * THREADS];
  float sum = 0.f;
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) sum += (held[i].x + held[i].y) + (held[i].z + held[i].w);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warp_sum(threadIdx.x < WARPS ? part[threadIdx.x] : 0.f);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
  }
}

int main() {
  const int rows = sm_count() * 96;
  auto* x = device_array<float>(size_t(rows) * COLUMNS, [](size_t i) { return float(i % 4) + float(i / COLUMNS % 3); });
  auto* y = device_zeros<float>(rows);
  launch_twice([&] { good_rowsum<<<rows, THREADS>>>(reinterpret_cast<float4*>(x), y); });
  return finish(close_to(peek(y, 5), (1.5 + 5 % 3) * COLUMNS) && close_to(peek(y, rows - 1), (1.5 + (rows - 1) % 128 % 3) * COLUMNS));
}
