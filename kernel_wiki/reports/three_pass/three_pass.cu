// A chain of three elementwise steps, each a sweep over the whole array and back to memory: the array is twice the L2, so each sweep reads
// and writes DRAM, 3 x 242 MB where 242 MB would do. DRAM is full, and two thirds of what it moves is needless.
#include "../evidence.cuh"

constexpr int THREADS = 256, PER = 4, CHUNK = THREADS * PER, CHUNKS_PER_BLOCK = 7, BLOCKS_PER_SM = 8;  // 121 MB on 132 SMs

static __host__ __device__ float scaled(float v) { return v * 1.5f; }
static __host__ __device__ float clipped(float v) { return fmaxf(v, 3.f); }
static __host__ __device__ float shifted(float v) { return v - 0.25f; }

template <typename F>
static __device__ void sweep(const float4* in, float4* out, F step) {
#pragma unroll 1
  for (int chunk = 0; chunk < CHUNKS_PER_BLOCK; ++chunk) {
    const size_t base = (size_t(chunk) * gridDim.x + blockIdx.x) * CHUNK + threadIdx.x;
    float4 held[PER];
#pragma unroll
    for (int i = 0; i < PER; ++i) held[i] = in[base + i * THREADS];
#pragma unroll
    for (int i = 0; i < PER; ++i)
      out[base + i * THREADS] = make_float4(step(held[i].x), step(held[i].y), step(held[i].z), step(held[i].w));
  }
}

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) three_pass(const float4* x, float4* y) {
  sweep(x, y, scaled);  // a thread meets its own elements again in each sweep: no barrier is needed
  sweep(y, y, clipped);
  sweep(y, y, shifted);
}

int main() {
  const int blocks = sm_count() * BLOCKS_PER_SM;
  const size_t count = size_t(blocks) * CHUNKS_PER_BLOCK * CHUNK;
  auto* x = device_array<float4>(count, [](size_t i) { return make_float4(i % 13, i % 11, i % 7, i % 5); });
  auto* y = device_zeros<float4>(count);
  launch_twice([&] { three_pass<<<blocks, THREADS>>>(x, y); });
  bool ok = true;
  for (size_t i : {size_t(0), size_t(4321), count - 1}) ok &= peek(y, i).y == shifted(clipped(scaled(peek(x, i).y)));
  return finish(ok);
}
