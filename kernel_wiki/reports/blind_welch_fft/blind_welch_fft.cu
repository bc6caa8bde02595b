// Welch's power spectrum of 16-bit IQ samples: 16 windowed transforms of 4096 points a block, radix 16 in registers, exchanged through shared memory.
// The first exchange writes with a stride of 16 words, unpadded: 16 lanes on a bank, 32 stores x 16 wavefronts a warp; with the rest 640 wavefronts
// where 144 would do, 5120 cycles a transform (3 x 16 transforms an SM = 250k cycles, 140 us). Reads of 16 kB a transform need 800 cycles, ~1000 instructions a warp 2000.
#include "../evidence.cuh"

constexpr int N = 4096, THREADS = 256, RADIX = 16, SEGMENTS = 16, CHANNELS = 132 * 3;

__device__ inline float2 operator+(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ inline float2 operator-(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }
__device__ inline float2 operator*(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }

__device__ inline void fft4(float2& a, float2& b, float2& c, float2& d) {
  float2 p = a + c, q = a - c, r = b + d, s = b - d;
  s = {s.y, -s.x};  // times -i
  a = p + r;
  c = p - r;
  b = q + s;
  d = q - s;
}

// Leaves output r at v[4 * (r % 4) + r / 4].
__device__ inline void fft16(float2* v) {
  constexpr float C[10] = {1.f, 0.92387953f, 0.70710678f, 0.38268343f, 0.f, -0.38268343f, -0.70710678f, -0.92387953f, -1.f, -0.92387953f};
  constexpr float S[10] = {0.f, -0.38268343f, -0.70710678f, -0.92387953f, -1.f, -0.92387953f, -0.70710678f, -0.38268343f, 0.f, 0.38268343f};
#pragma unroll
  for (int i = 0; i < 4; ++i) fft4(v[i], v[i + 4], v[i + 8], v[i + 12]);
#pragma unroll
  for (int i = 1; i < 4; ++i)
#pragma unroll
    for (int k = 1; k < 4; ++k) v[i + 4 * k] = v[i + 4 * k] * float2{C[i * k], S[i * k]};
#pragma unroll
  for (int k = 0; k < 4; ++k) fft4(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
}

// Multiplies v[r] by step^r.
__device__ inline void twiddle(float2* v, float turns) {
  float2 step, power;
  sincospif(-2.f * turns, &step.y, &step.x);
  power = step;
#pragma unroll
  for (int r = 1; r < RADIX; ++r) {
    v[r] = v[r] * power;
    power = power * step;
  }
}

__device__ inline void exchange(float2* v, float* real, float* imaginary, int to, int stride) {
#pragma unroll
  for (int r = 0; r < RADIX; ++r) {
    real[to + r * stride] = v[4 * (r % 4) + r / 4].x;
    imaginary[to + r * stride] = v[4 * (r % 4) + r / 4].y;
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < RADIX; ++r) v[r] = {real[threadIdx.x + r * THREADS], imaginary[threadIdx.x + r * THREADS]};
  __syncthreads();
}

__global__ __launch_bounds__(THREADS, 3) void blind_welch_fft(const short2* __restrict__ iq, const float* __restrict__ window, float* __restrict__ power) {
  __shared__ float real[N], imaginary[N];
  int j = threadIdx.x;
  float sum[RADIX] = {};
#pragma unroll 1
  for (int segment = 0; segment < SEGMENTS; ++segment) {
    const short2* samples = iq + (size_t(blockIdx.x) * SEGMENTS + segment) * N;
    float2 v[RADIX];
#pragma unroll
    for (int r = 0; r < RADIX; ++r) {
      short2 sample = samples[j + r * THREADS];
      float w = window[j + r * THREADS];
      v[r] = {sample.x * w, sample.y * w};
    }
    fft16(v);
    exchange(v, real, imaginary, j * RADIX, 1);
    twiddle(v, float(j % 16) / 256);
    fft16(v);
    exchange(v, real, imaginary, j / 16 * 256 + j % 16, 16);
    twiddle(v, float(j) / N);
    fft16(v);
#pragma unroll
    for (int r = 0; r < RADIX; ++r) {
      float2 bin = v[4 * (r % 4) + r / 4];
      sum[r] += bin.x * bin.x + bin.y * bin.y;
    }
  }
#pragma unroll
  for (int r = 0; r < RADIX; ++r) power[size_t(blockIdx.x) * N + j + r * THREADS] = sum[r] * (1.f / SEGMENTS);
}

static short2 sample_at(size_t i) {
  unsigned hash = unsigned(i) * 2654435761u;
  hash ^= hash >> 15;
  double phase = 0.7 * double(i % N);
  return {short(1000 * std::cos(phase) + double(hash & 255)), short(1000 * std::sin(phase) - double(hash >> 8 & 255))};
}

static float window_at(size_t i) { return float(0.5 - 0.5 * std::cos(2 * M_PI * double(i) / N)); }

int main() {
  auto* iq = device_array<short2>(size_t(CHANNELS) * SEGMENTS * N, sample_at);
  auto* window = device_array<float>(N, window_at);
  auto* power = device_zeros<float>(size_t(CHANNELS) * N);
  launch_twice([&] { blind_welch_fft<<<CHANNELS, THREADS>>>(iq, window, power); });
  bool ok = true;
  constexpr int CHANNEL = 201;
  for (int bin : {0, 17, 456, 1000, 4095}) {
    double mean = 0;
    for (int segment = 0; segment < SEGMENTS; ++segment) {
      double re = 0, im = 0;
      for (int n = 0; n < N; ++n) {
        short2 s = sample_at(((size_t(CHANNEL) * SEGMENTS + segment) * N + n) % PATTERN);
        double angle = -2 * M_PI * double(size_t(bin) * n % N) / N, c = std::cos(angle), d = std::sin(angle), w = window_at(n);
        re += w * (s.x * c - s.y * d);
        im += w * (s.x * d + s.y * c);
      }
      mean += (re * re + im * im) / SEGMENTS;
    }
    ok = ok && std::fabs(peek(power, size_t(CHANNEL) * N + bin) - mean) <= 5e-3 * mean + 1e3;
  }
  return finish(ok);
}
