// The cure of sfu_exp: one exponential of four stays on the XU pipe (8 cycles a warp), three become range reduction and a cubic on the
// FMA pipe (7 instructions each, relative error 7.5e-5): 22 issue cycles for four in place of 32, and the XU pipe rests in two of three.
#include "../evidence.cuh"

constexpr int THREADS = 256, STEPS = 512, CHAINS = 4, ON_XU = 1;

static __device__ __forceinline__ float exp2_unit(float x) {
  float y;
  asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// 2^x for |x| < 126: the sum with 1.5 * 2^23 leaves the nearest integer in the low bits, the cubic is a fit on [-0.5, 0.5].
static __device__ __forceinline__ float exp2_polynomial(float x) {
  constexpr float ROUND = 12582912.f;
  float whole = x + ROUND;
  float rest = x - (whole - ROUND);
  float p = fmaf(fmaf(fmaf(0.0551676117f, rest, 0.242611052f), rest, 0.693261752f), rest, 0.999928083f);
  return __int_as_float((__float_as_int(whole) << 23) + __float_as_int(p));
}

__global__ void exp_split(const float* __restrict__ x, float* __restrict__ y) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float a[CHAINS];
  for (int c = 0; c < CHAINS; ++c) a[c] = x[i & (PATTERN - 1)] + c * 0.01f;
#pragma unroll 4
  for (int step = 0; step < STEPS; ++step)
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) a[c] = c < ON_XU ? exp2_unit(-a[c]) : exp2_polynomial(-a[c]);
  y[i] = a[0] + a[1] + a[2] + a[3];
}

int main() {
  int blocks = sm_count() * 8 * 4;
  auto* x = device_array<float>(PATTERN, [](size_t i) { return float(i % 17) * 0.05f; });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { exp_split<<<blocks, THREADS>>>(x, y); });
  return finish(close_to(peek(y, 4321), 4 * 0.641186, 2e-4));  // x = 2^-x at 0.641186
}
