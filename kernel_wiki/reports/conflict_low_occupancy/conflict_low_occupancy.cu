// Each block fills a 160 KB tile (one block of 8 warps an SM), then its threads walk records of 16 words in shared memory: 16 lanes on a
// bank. Filling takes about 6 us, reading about 11 us, so the conflicts are first; with one block nothing overlaps the two phases, so
// occupancy is second.
#include "../evidence.cuh"

constexpr int THREADS = 256, RECORD = 16, RECORDS = 10, TILE = THREADS * RECORD * RECORDS, BATCH = 8;
constexpr size_t TILE_BYTES = TILE * sizeof(float);

__global__ __launch_bounds__(THREADS) void conflict_low_occupancy(const float4* __restrict__ x, float* __restrict__ y) {
  extern __shared__ __align__(16) float tile[];
  const float4* in = x + size_t(blockIdx.x) * (TILE / 4) + threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < TILE / 4 / THREADS; i += BATCH) {
    float4 held[BATCH];
#pragma unroll
    for (int j = 0; j < BATCH; ++j) held[j] = in[(i + j) * THREADS];
#pragma unroll
    for (int j = 0; j < BATCH; ++j) reinterpret_cast<float4*>(tile)[(i + j) * THREADS + threadIdx.x] = held[j];
  }
  __syncthreads();
  const volatile float* words = tile;  // one word an access, as where a record's fields have different types
  float sum = 0.f;
#pragma unroll 1
  for (int record = threadIdx.x; record < RECORDS * THREADS; record += THREADS)
#pragma unroll
    for (int k = 0; k < RECORD; ++k) sum += words[record * RECORD + k] * (k + 1);
  y[size_t(blockIdx.x) * THREADS + threadIdx.x] = sum;
}

int main() {
  const int blocks = sm_count() * 12;
  auto* x = device_array<float>(size_t(blocks) * TILE, [](size_t i) { return float(i % 1024 / RECORD % 4); });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  CUDA_CHECK(cudaFuncSetAttribute(conflict_low_occupancy, cudaFuncAttributeMaxDynamicSharedMemorySize, int(TILE_BYTES)));
  launch_twice([&] { conflict_low_occupancy<<<blocks, THREADS, TILE_BYTES>>>(reinterpret_cast<float4*>(x), y); });
  return finish(close_to(peek(y, size_t(5) * THREADS + 33), 33 % 4 * RECORDS * RECORD * (RECORD + 1) / 2.0));
}
