// Detector images, 8-bit samples to bf16, an element at a time: each finds its channel, column and row by divisions and addresses of its
// own, loads gain, offset and dark level, converts, evaluates a curve and stores two bytes. About 37 instructions an element where DRAM
// (3 bytes, 96 a warp) asks for 21 cycles of a scheduler: issue slots fill while ALU, FMA and load-store pipes stay below 80 %.
#include "../evidence.cuh"

#include <cuda_bf16.h>

constexpr int THREADS = 256, ITEMS = 16, DEGREE = 9;
constexpr unsigned CHANNELS = 48, COLUMNS = 250, ROWS = 256;

struct Divisor {
  unsigned value, magic, shift;
};

struct Curve {
  float c[DEGREE + 1];
};

static __host__ __device__ __forceinline__ float calibrated(float x, float gain, float offset, float dark, const Curve& curve) {
  float v = fmaf(x, gain, offset) - dark, y = curve.c[DEGREE];
  for (int k = DEGREE - 1; k >= 0; --k) y = fmaf(y, v, curve.c[k]);
  return y;
}

static __device__ __forceinline__ unsigned divide(unsigned n, Divisor by) { return __umulhi(n, by.magic) >> by.shift; }

__global__ void issue_overhead(const unsigned char* __restrict__ x, const float* __restrict__ gain, const float* __restrict__ offset,
                               const float* __restrict__ dark, __nv_bfloat16* __restrict__ y, unsigned last, Divisor channels,
                               Divisor columns, Curve curve) {
  unsigned first = blockIdx.x * (THREADS * ITEMS) + threadIdx.x;
#pragma unroll 4
  for (int item = 0; item < ITEMS; ++item) {
    unsigned i = min(first + item * THREADS, last);  // past the end: the last element again
    unsigned pixel = divide(i, channels), channel = i - pixel * channels.value;
    unsigned line = divide(pixel, columns), column = pixel - line * columns.value;
    unsigned row = line & (ROWS - 1);
    y[i] = __float2bfloat16(calibrated(float(x[i]), gain[channel], offset[column], dark[row], curve));
  }
}

// Exact for dividends below 2^31: a multiplier of 32 bits, rounded up, over 2^32 times the power of two below the divisor.
static Divisor divisor(unsigned value) {
  unsigned shift = 0;
  while ((2u << shift) <= value) ++shift;
  return {value, unsigned(((1ull << (32 + shift)) + value - 1) / value), shift};
}

static Curve make_curve() {
  Curve curve;
  for (int k = 0; k <= DEGREE; ++k) curve.c[k] = 1.f / float(k + 1);
  return curve;
}

int main() {
  int blocks = sm_count() * 90;
  unsigned count = blocks * THREADS * ITEMS;
  auto level = [](size_t i) { return (unsigned char)(i * 37 % 251); };
  auto gain = [](size_t i) { return 0.003f + 0.00001f * float(i % CHANNELS); };
  auto offset = [](size_t i) { return 0.0001f * float(i % COLUMNS); };
  auto dark = [](size_t i) { return 0.0002f * float(i % ROWS); };
  auto* x = device_array<unsigned char>(count, level);
  auto* gains = device_array<float>(CHANNELS, gain);
  auto* offsets = device_array<float>(COLUMNS, offset);
  auto* darks = device_array<float>(ROWS, dark);
  auto* y = device_zeros<__nv_bfloat16>(count);
  launch_twice([&] {
    issue_overhead<<<blocks, THREADS>>>(x, gains, offsets, darks, y, count - 1, divisor(CHANNELS), divisor(COLUMNS), make_curve());
  });
  size_t i = size_t(7) * ROWS * COLUMNS * CHANNELS + 54321;
  size_t pixel = i / CHANNELS, line = pixel / COLUMNS;
  float expected = calibrated(level(i % PATTERN), gain(i % CHANNELS), offset(pixel % COLUMNS), dark(line % ROWS), make_curve());
  return finish(close_to(__bfloat162float(peek(y, i)), expected, 8e-3));
}
