// A filter of 128 taps whose inputs lie in shared memory and are read one float at a time: one shared load, conflict-free, for each
// multiply-add. An SM takes one such load a cycle where it could do four multiply-adds: the queue in front of shared memory (MIO) is always
// full. Per SM 8,192 warp outputs x 128 taps are 1.05 million cycles of the shared path against 0.26 million of the FMA pipe and about
// 60,000 for the SM's share of 138 MB from DRAM.
#include "../evidence.cuh"

constexpr int TAPS = 128, THREADS = 256, TILE = THREADS * 8, POOL = 8;  // TILE: filter outputs of a block

struct Taps {
  float value[TAPS];  // a kernel parameter: constant operands of the FMAs, no load
};

// y[i] = largest of z[8 i] ... z[8 i + 7], where z[i] = sum over j of taps[j] * x[i + j].
__global__ __launch_bounds__(THREADS, 8) void mio_scalar(const float* __restrict__ x, float* __restrict__ y,
                                                         const __grid_constant__ Taps taps) {
  __shared__ float tile[TILE + TAPS];
  const size_t base = size_t(blockIdx.x) * TILE;
  for (int i = threadIdx.x; i < TILE + TAPS; i += THREADS) tile[i] = x[base + i];
  __syncthreads();
#pragma unroll 1
  for (int i = threadIdx.x; i < TILE; i += THREADS) {
    float sum = 0.f;
#pragma unroll
    for (int j = 0; j < TAPS; ++j) sum += taps.value[j] * tile[i + j];
    for (int step = POOL / 2; step; step /= 2) sum = fmaxf(sum, __shfl_xor_sync(0xffffffff, sum, step));
    if (i % POOL == 0) y[(base + i) / POOL] = sum;
  }
}

int main() {
  const size_t blocks = size_t(sm_count()) * 8 * 16;
  Taps taps;
  for (int j = 0; j < TAPS; ++j) taps.value[j] = 1.f + j % 5;
  auto value = [](size_t i) { return float(i % 11) + 1.f; };
  auto* x = device_array<float>(blocks * TILE + TAPS, value);
  auto* y = device_zeros<float>(blocks * TILE / POOL);
  launch_twice([&] { mio_scalar<<<blocks, THREADS>>>(x, y, taps); });
  float expected = 0;
  for (int i = 0; i < POOL; ++i) {
    float sum = 0;
    for (int j = 0; j < TAPS; ++j) sum += taps.value[j] * value(7777 * POOL + i + j);
    expected = std::max(expected, sum);
  }
  return finish(close_to(peek(y, 7777), expected));
}
