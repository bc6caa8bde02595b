// A complex iteration z = z * z + c of fixed length, two points a thread, in exactly the number of blocks that fit the GPU at once: one
// wave, no remainder, equal work. The FMA pipe is the limit.
#include "../evidence.cuh"

constexpr int THREADS = 256, BLOCKS_PER_SM = 8, STEPS = 6144, POINTS = 2;

static __host__ __device__ void step(float& re, float& im, float c_re, float c_im) {
  const float next = fmaf(re, re, fmaf(-im, im, c_re));
  im = fmaf(re + re, im, c_im);
  re = next;
}

__global__ __launch_bounds__(THREADS, BLOCKS_PER_SM) void one_wave_exact(const float2* __restrict__ c, float2* __restrict__ z) {
  const size_t base = size_t(blockIdx.x) * THREADS * POINTS + threadIdx.x;
  float2 from[POINTS], at[POINTS];
#pragma unroll
  for (int i = 0; i < POINTS; ++i) at[i] = from[i] = c[base + i * THREADS];
#pragma unroll 16
  for (int s = 0; s < STEPS; ++s)
#pragma unroll
    for (int i = 0; i < POINTS; ++i) step(at[i].x, at[i].y, from[i].x, from[i].y);
#pragma unroll
  for (int i = 0; i < POINTS; ++i) z[base + i * THREADS] = at[i];
}

int main() {
  const int blocks = sm_count() * BLOCKS_PER_SM;
  const size_t count = size_t(blocks) * THREADS * POINTS, at = count - 77;
  auto* c = device_array<float2>(count, [](size_t i) { return make_float2(float(i % 31) * 0.01f - 0.2f, float(i % 17) * 0.01f); });  // all converge
  auto* z = device_zeros<float2>(count);
  launch_twice([&] { one_wave_exact<<<blocks, THREADS>>>(c, z); });
  const float2 from = peek(c, at);
  float re = from.x, im = from.y;
  for (int s = 0; s < STEPS; ++s) step(re, im, from.x, from.y);
  return finish(close_to(peek(z, at).x, re) && close_to(peek(z, at).y, im));
}
