// Largest value of 200 M 16-bit integers: packed maxima in registers, redux over the warp, one atomic a block on one address. 6,336 atomics
// in 95 us are four times fewer than the L2 would take on one address, and no thread waits for them: DRAM bandwidth is the limit.
#include "../evidence.cuh"

constexpr int THREADS = 256, WARPS = THREADS / 32, VECTORS = 16, BATCH = 4;

static __device__ unsigned max2(unsigned a, uint4 v) { return __vmaxu2(__vmaxu2(a, v.x), __vmaxu2(__vmaxu2(v.y, v.z), v.w)); }

__global__ __launch_bounds__(THREADS) void reduction_atomics_final(const uint4* __restrict__ x, unsigned* __restrict__ result) {
  __shared__ unsigned part[WARPS];
  const uint4* in = x + size_t(blockIdx.x) * THREADS * VECTORS + threadIdx.x;
  unsigned both = 0;
#pragma unroll
  for (int i = 0; i < VECTORS; i += BATCH) {
    uint4 held[BATCH];
#pragma unroll
    for (int j = 0; j < BATCH; ++j) held[j] = in[(i + j) * THREADS];
#pragma unroll
    for (int j = 0; j < BATCH; ++j) both = max2(both, held[j]);
  }
  unsigned largest = __reduce_max_sync(0xffffffff, max(both & 0xffffu, both >> 16));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = largest;
  __syncthreads();
  if (threadIdx.x < 32) {
    largest = __reduce_max_sync(0xffffffff, part[threadIdx.x % WARPS]);
    if (threadIdx.x == 0) atomicMax(result, largest);
  }
}

int main() {
  const int blocks = sm_count() * 48;
  const size_t words = size_t(blocks) * THREADS * VECTORS * 4;
  auto* x = device_array<unsigned>(words, [](size_t i) { return unsigned(i % 60001) << 16 | unsigned(i % 50021); });
  auto* result = device_zeros<unsigned>(1);
  launch_twice([&] { reduction_atomics_final<<<blocks, THREADS>>>(reinterpret_cast<uint4*>(x), result); });
  return finish(peek(result, 0) == 60000);
}
