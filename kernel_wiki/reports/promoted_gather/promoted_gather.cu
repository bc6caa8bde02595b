// Random rows of 32 bytes, each a whole sector, with the hint L2::128B and the L2 fetch granularity at 128: every miss brings four
// sectors from DRAM for one that is used. 4 Mi rows are 128 MiB of use and up to 512 MiB of DRAM reads, the limit of the kernel.
#include "../evidence.cuh"

constexpr unsigned ROWS = 1u << 23, BAGS = 1u << 19, BAG = 8;  // rows of 32 bytes: 256 MiB, half of them read, each once
constexpr int THREADS = 256;
constexpr size_t FETCH_BYTES = 128;  // the most that the limit takes

// A row for each i below ROWS, none twice: odd factors and shifts can be undone.
static __host__ __device__ unsigned shuffled(unsigned i) {
  i = (i * 2654435761u) % ROWS;
  i ^= i >> 12;
  i = (i * 2246822519u) % ROWS;
  return i ^ (i >> 11);
}

// A load that asks the L2 for the whole 128-byte line, as copied from kernels that stream.
static __device__ float4 promoted(const float4* at) {
  float4 v;
  asm("ld.global.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(at));
  return v;
}

__global__ void promoted_gather(const float4* __restrict__ table, float4* __restrict__ y) {
  const unsigned thread = blockIdx.x * THREADS + threadIdx.x, bag = thread / 2, half = thread % 2;  // two lanes read a row
  float4 held[BAG], sum = {};
#pragma unroll
  for (unsigned j = 0; j < BAG; ++j) held[j] = promoted(&table[size_t(shuffled(bag * BAG + j)) * 2 + half]);
#pragma unroll
  for (unsigned j = 0; j < BAG; ++j) sum = make_float4(sum.x + held[j].x, sum.y + held[j].y, sum.z + held[j].z, sum.w + held[j].w);
  y[thread] = sum;
}

static float4 row_half(size_t i) { return make_float4(i % 16 + 1.f, i % 7 + 1.f, i % 5 + 1.f, i % 3 + 1.f); }

int main() {
  size_t limit = 0;
  CUDA_CHECK(cudaDeviceGetLimit(&limit, cudaLimitMaxL2FetchGranularity));
  CUDA_CHECK(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, FETCH_BYTES));
  auto* table = device_array<float4>(size_t(ROWS) * 2, row_half);
  auto* y = device_zeros<float4>(size_t(BAGS) * 2);
  launch_twice([&] { promoted_gather<<<BAGS * 2 / THREADS, THREADS>>>(table, y); });
  CUDA_CHECK(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, limit));
  const unsigned bag = 4321, half = 1;
  float expected = 0;
  for (unsigned j = 0; j < BAG; ++j) expected += row_half((size_t(shuffled(bag * BAG + j)) * 2 + half) % PATTERN).y;
  return finish(peek(y, bag * 2 + half).y == expected);
}
