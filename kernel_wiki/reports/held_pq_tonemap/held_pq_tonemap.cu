// Tone-maps HDR10 samples: PQ (SMPTE ST 2084) to linear light, a Reinhard shoulder, and back to PQ. Powers are lg2 and ex2 of the special
// function unit and divisions its reciprocals: 11 of them for 4 bytes, eight half-precision samples a thread. 50 M samples x 11 are 132 us at
// 16 a cycle and SM, 200 MB are 42 us, and issue slots are a third full: the special function unit is the roof.
#include "../evidence.cuh"

#include <cuda_fp16.h>

constexpr int THREADS = 256;
constexpr size_t SAMPLES = 48 << 20, OCTETS = SAMPLES / 8;
constexpr float M1 = 2610.f / 16384.f, M2 = 2523.f / 32.f, C1 = 3424.f / 4096.f, C2 = 2413.f / 128.f, C3 = 2392.f / 128.f;
constexpr float GAIN = 20.f, SCALE = 0.045f;  // highlights above 500 cd/m2 roll off towards 450

__device__ static float log2_of(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ static float two_to(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ static float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ static float tonemapped(float signal) {
  float p = two_to(log2_of(signal) * (1.f / M2));
  float light = two_to(log2_of(fmaxf(p - C1, 0.f) * reciprocal(C2 - C3 * p)) * (1.f / M1)) * GAIN;
  float shown = light * reciprocal(1.f + light) * SCALE;
  float q = two_to(log2_of(shown) * M1);
  return two_to(log2_of((C1 + C2 * q) * reciprocal(1.f + C3 * q)) * M2);
}

__device__ static unsigned both(unsigned packed) {
  float2 pair = __half22float2(reinterpret_cast<__half2&>(packed));
  __half2 mapped = __floats2half2_rn(tonemapped(pair.x), tonemapped(pair.y));
  return reinterpret_cast<unsigned&>(mapped);
}

__global__ __launch_bounds__(THREADS) void held_pq_tonemap(const uint4* __restrict__ in, uint4* __restrict__ out) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  uint4 octet = in[i];
  out[i] = make_uint4(both(octet.x), both(octet.y), both(octet.z), both(octet.w));
}

static double expected(double signal) {
  double p = std::pow(signal, 1. / M2);
  double light = std::pow(std::max(p - C1, 0.) / (C2 - C3 * p), 1. / M1) * GAIN;
  double q = std::pow(light / (1. + light) * SCALE, double(M1));
  return std::pow((C1 + C2 * q) / (1. + C3 * q), double(M2));
}

int main() {
  auto value_at = [](size_t i) { return __float2half(0.05f + float((i * 7919) % 1021) / 1150.f); };
  auto* in = device_array<__half>(SAMPLES, value_at);
  auto* out = device_zeros<__half>(SAMPLES);
  launch_twice([&] { held_pq_tonemap<<<OCTETS / THREADS, THREADS>>>(reinterpret_cast<uint4*>(in), reinterpret_cast<uint4*>(out)); });
  bool ok = true;
  for (size_t i : {size_t(1), size_t(777), size_t(12345678), SAMPLES - 1})
    ok = ok && close_to(__half2float(peek(out, i)), expected(__half2float(value_at(i % PATTERN))), 2e-3);
  return finish(ok);
}
