// Digital predistortion of a transmitter: a memory polynomial of 4 taps and degree 11 in |x|^2, y[n] = sum_m P_m(|x[n-m]|^2) x[n-m], complex, half precision in
// memory. Nothing is wrong: 104 FFMA a sample with uniform coefficients, ~90 % of all instructions, eight samples a thread. 2^24 samples x 104 / 128
// lanes / 132 SMs = 103k cycles (60 us); 8 bytes a sample are 134 MB (30 us).
#include "../evidence.cuh"
#include <cuda_fp16.h>

constexpr int SAMPLES = 1 << 24, TAPS = 4, TERMS = 12, THREADS = 256;
constexpr int EACH = 4, BEFORE = 4, GROUPS = 2;  // samples a vector, of the vector before (three are used), vectors a thread

struct Coefficients {
  float re[TAPS][TERMS], im[TAPS][TERMS];
};

constexpr Coefficients make_coefficients() {
  Coefficients c{};
  unsigned x = 1;
  for (int m = 0; m < TAPS; ++m)
    for (int k = 0; k < TERMS; ++k) {
      x = x * 1664525u + 1013904223u;
      c.re[m][k] = float(int(x >> 16) - 32768) / 65536.f / float(1 + m);
      x = x * 1664525u + 1013904223u;
      c.im[m][k] = float(int(x >> 16) - 32768) / 65536.f / float(1 + m);
    }
  return c;
}

static __constant__ Coefficients coefficients = make_coefficients();

union Four {
  uint4 raw;
  __half2 sample[EACH];
  __device__ Four() {}
};

// `in` begins with BEFORE samples of history.
__global__ __launch_bounds__(THREADS) void blind_dpd_poly(const uint4* __restrict__ in, uint4* __restrict__ out) {
  int i = blockIdx.x * (THREADS * GROUPS) + threadIdx.x;
  float2 x[GROUPS][BEFORE + EACH];
  float power[GROUPS][BEFORE + EACH];
#pragma unroll
  for (int g = 0; g < GROUPS; ++g)
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      Four four;
      four.raw = in[i + g * THREADS + part];
#pragma unroll
      for (int k = 0; k < EACH; ++k) {
        float2 v = __half22float2(four.sample[k]);
        x[g][part * EACH + k] = v;
        power[g][part * EACH + k] = fmaf(v.x, v.x, v.y * v.y);
      }
    }
  float2 y[GROUPS * EACH] = {};
#pragma unroll
  for (int m = 0; m < TAPS; ++m) {
    float2 gain[GROUPS * EACH];
#pragma unroll
    for (int n = 0; n < GROUPS * EACH; ++n) gain[n] = {coefficients.re[m][TERMS - 1], coefficients.im[m][TERMS - 1]};
#pragma unroll
    for (int k = TERMS - 2; k >= 0; --k)
#pragma unroll
      for (int n = 0; n < GROUPS * EACH; ++n) {
        float p = power[n / EACH][BEFORE + n % EACH - m];
        gain[n] = {fmaf(gain[n].x, p, coefficients.re[m][k]), fmaf(gain[n].y, p, coefficients.im[m][k])};
      }
#pragma unroll
    for (int n = 0; n < GROUPS * EACH; ++n) {
      float2 v = x[n / EACH][BEFORE + n % EACH - m];
      y[n].x = fmaf(-gain[n].y, v.y, fmaf(gain[n].x, v.x, y[n].x));
      y[n].y = fmaf(gain[n].y, v.x, fmaf(gain[n].x, v.y, y[n].y));
    }
  }
#pragma unroll
  for (int g = 0; g < GROUPS; ++g) {
    Four result;
#pragma unroll
    for (int n = 0; n < EACH; ++n) result.sample[n] = __float22half2_rn(y[g * EACH + n]);
    out[i + g * THREADS] = result.raw;
  }
}

static float part_of(size_t i, unsigned shift) {
  unsigned hash = unsigned(i + 1) * 2654435761u;
  hash ^= hash >> 15;
  return float(int(hash >> shift & 255) - 128) / 256.f;  // exact in half precision
}

int main() {
  constexpr Coefficients c = make_coefficients();
  auto* in = device_array<__half2>(SAMPLES + BEFORE, [](size_t i) { return __floats2half2_rn(part_of(i, 3), part_of(i, 17)); });
  auto* out = device_zeros<__half2>(SAMPLES);
  launch_twice([&] { blind_dpd_poly<<<SAMPLES / EACH / GROUPS / THREADS, THREADS>>>(reinterpret_cast<const uint4*>(in), reinterpret_cast<uint4*>(out)); });
  bool ok = true;
  for (size_t n : {size_t(0), size_t(1234567), size_t(9999998), size_t(SAMPLES - 1)}) {
    double yr = 0, yi = 0;
    for (int m = 0; m < TAPS; ++m) {
      size_t at = (n + BEFORE - m) % PATTERN;
      double xr = part_of(at, 3), xi = part_of(at, 17), p = xr * xr + xi * xi, re = 0, im = 0;
      for (int k = TERMS - 1; k >= 0; --k) {
        re = re * p + c.re[m][k];
        im = im * p + c.im[m][k];
      }
      yr += re * xr - im * xi;
      yi += re * xi + im * xr;
    }
    __half2 got = peek(out, n);
    ok = ok && close_to(__low2float(got), yr, 3e-3) && close_to(__high2float(got), yi, 3e-3);
  }
  return finish(ok);
}
