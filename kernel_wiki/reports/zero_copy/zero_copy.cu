// One sixth of the input lies in pinned host memory and the kernel reads it there: 16 MiB over a link of some 50 GB/s are 0.3 ms or
// more, while the other 80 MiB and the 96 MiB written take some 0.05 ms of DRAM time. The link dominates; DRAM and SMs idle.
#include "../evidence.cuh"

constexpr int THREADS = 256, BLOCKS = 4096, RESIDENT = 5;
constexpr size_t OFFLOADED = size_t(BLOCKS) * THREADS;  // float4: 16 MiB; five times as much is resident

static __host__ __device__ float4 halved(float4 v) { return make_float4(v.x * 0.5f + 1, v.y * 0.5f + 1, v.z * 0.5f + 1, v.w * 0.5f + 1); }

__global__ void zero_copy(const float4* __restrict__ offloaded, const float4* __restrict__ resident, float4* __restrict__ y) {
  const size_t at = size_t(blockIdx.x) * THREADS + threadIdx.x;
  const size_t base = size_t(blockIdx.x) * THREADS * RESIDENT + threadIdx.x;
  float4 first = offloaded[at], held[RESIDENT];
#pragma unroll
  for (int i = 0; i < RESIDENT; ++i) held[i] = resident[base + i * THREADS];
#pragma unroll
  for (int i = 0; i < RESIDENT; ++i) y[OFFLOADED + base + i * THREADS] = halved(held[i]);
  y[at] = halved(first);
}

static float4 value(size_t i) { return make_float4(i + 1.f, i + 2.f, i + 3.f, i + 4.f); }

int main() {
  float4* offloaded = nullptr;
  CUDA_CHECK(cudaHostAlloc(&offloaded, OFFLOADED * sizeof(float4), cudaHostAllocMapped));
  for (size_t i = 0; i < OFFLOADED; ++i) offloaded[i] = value(i);
  auto* resident = device_array<float4>(OFFLOADED * RESIDENT, value);
  auto* y = device_zeros<float4>(OFFLOADED * (RESIDENT + 1));
  launch_twice([&] { zero_copy<<<BLOCKS, THREADS>>>(offloaded, resident, y); });
  // the resident part repeats after PATTERN elements, as many as are offloaded
  const bool ok = peek(y, 4321).z == halved(value(4321)).z && peek(y, OFFLOADED * 4 + 77).x == halved(value(77)).x;
  CUDA_CHECK(cudaFreeHost(offloaded));
  return finish(ok);
}
