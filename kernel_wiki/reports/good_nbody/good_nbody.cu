// Field of 256 point sources at 4.3 million targets: four targets a thread share each source read (a broadcast from shared memory). A pair
// costs 12 instructions of the FMA pipe (3.0 cycles a warp and SM) and one reciprocal square root (2.0): the FMA pipe fills first.
#include "../evidence.cuh"

constexpr int SOURCES = 256, THREADS = 256, TARGETS = 4;

static __device__ float inverse_root(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__global__ __launch_bounds__(THREADS, 4) void good_nbody(const float4* __restrict__ target, const float4* __restrict__ source,
                                                         float4* __restrict__ field, float softening) {
  __shared__ float4 body[SOURCES];
  body[threadIdx.x] = source[threadIdx.x];
  __syncthreads();
  const size_t base = size_t(blockIdx.x) * THREADS * TARGETS + threadIdx.x;
  float4 at[TARGETS], sum[TARGETS];
#pragma unroll
  for (int i = 0; i < TARGETS; ++i) {
    at[i] = target[base + i * THREADS];
    sum[i] = make_float4(0.f, 0.f, 0.f, 0.f);
  }
#pragma unroll 4
  for (int j = 0; j < SOURCES; ++j) {
    const float4 from = body[j];
#pragma unroll
    for (int i = 0; i < TARGETS; ++i) {
      const float dx = from.x - at[i].x, dy = from.y - at[i].y, dz = from.z - at[i].z;
      const float inverse = inverse_root(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, softening))));
      const float weight = from.w * inverse * (inverse * inverse);
      sum[i].x = fmaf(dx, weight, sum[i].x);
      sum[i].y = fmaf(dy, weight, sum[i].y);
      sum[i].z = fmaf(dz, weight, sum[i].z);
    }
  }
#pragma unroll
  for (int i = 0; i < TARGETS; ++i) field[base + i * THREADS] = sum[i];
}

int main() {
  const int blocks = sm_count() * 4 * 8;
  const size_t count = size_t(blocks) * THREADS * TARGETS, at = count - 77;
  const float softening = 0.5f;
  auto* target = device_array<float4>(count, [](size_t i) { return make_float4(i % 11 * 0.5f, i % 13 * 0.25f, i % 17 * 0.125f, 0.f); });
  auto* source = device_array<float4>(SOURCES, [](size_t i) { return make_float4(i % 7 * 0.5f, i % 5 * 0.25f, i % 3 * 1.f, 1.f + i % 2); });
  auto* field = device_zeros<float4>(count);
  launch_twice([&] { good_nbody<<<blocks, THREADS>>>(target, source, field, softening); });
  const float4 here = peek(target, at);
  double expected = 0;
  for (int j = 0; j < SOURCES; ++j) {
    const float4 from = peek(source, j);
    const double dx = from.x - here.x, dy = from.y - here.y, dz = from.z - here.z;
    expected += from.w * dx / std::pow(dx * dx + dy * dy + dz * dz + softening, 1.5);
  }
  return finish(close_to(peek(field, at).x, expected));
}
