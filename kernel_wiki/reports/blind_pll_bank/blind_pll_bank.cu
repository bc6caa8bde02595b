// A bank of Costas loops: 256 candidates of carrier frequency a block follow one stream of 1024 samples from shared memory. Nothing is wrong: the loop's phase
// depends on its own last error, so sine, cosine and the discriminator's reciprocal are needed at every step: 3 MUFU, 24 cycles a warp and
// scheduler, beside ~16 instructions. 16 warps a scheduler x 1024 x 24 = 393k cycles (~210 us); 9 MB of samples are read once.
#include "../evidence.cuh"

constexpr int THREADS = 256, STREAMS = 132 * 8, LENGTH = 1024;
constexpr float CENTRE = 6.2831853f * 8 / LENGTH, PROPORTIONAL = 0.1f, INTEGRAL = 0.004f;

__host__ __device__ inline float reciprocal(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1.f / x;
#endif
}

__host__ __device__ inline void sine_cosine(float x, float* s, float* c) {
#ifdef __CUDA_ARCH__
  *s = __sinf(x);
  *c = __cosf(x);
#else
  *s = std::sin(x);
  *c = std::cos(x);
#endif
}

struct Loop {
  float phase, frequency, power;

  __host__ __device__ inline void step(float re, float im) {
    float s, c;
    sine_cosine(phase, &s, &c);
    float i = re * c + im * s, q = im * c - re * s;
    float square = i * i;
    float error = i * q * reciprocal(square + 0.1f);
    power += square;
    frequency += INTEGRAL * error;
    phase += frequency + PROPORTIONAL * error;
  }
};

__host__ __device__ inline float start_frequency(int candidate) { return CENTRE + 0.00008f * float(candidate - THREADS / 2); }

__global__ __launch_bounds__(THREADS, 8) void blind_pll_bank(const float4* __restrict__ samples, float2* __restrict__ found) {
  __shared__ float4 stream[LENGTH / 2];
  for (int i = threadIdx.x; i < LENGTH / 2; i += THREADS) stream[i] = samples[size_t(blockIdx.x) * (LENGTH / 2) + i];
  __syncthreads();
  Loop loop = {0.f, start_frequency(threadIdx.x), 0.f};
#pragma unroll 4
  for (int i = 0; i < LENGTH / 2; ++i) {
    float4 two = stream[i];
    loop.step(two.x, two.y);
    loop.step(two.z, two.w);
  }
  found[size_t(blockIdx.x) * THREADS + threadIdx.x] = make_float2(loop.frequency, loop.power);
}

static float2 sample_at(size_t i) {
  unsigned hash = unsigned(i + 1) * 2654435761u;
  hash ^= hash >> 15;
  double phase = double(CENTRE) * double(i % LENGTH);
  return {float(std::cos(phase) + double(hash & 255) / 2560 - 0.05), float(std::sin(phase) + double(hash >> 8 & 255) / 2560 - 0.05)};
}

int main() {
  auto* samples = device_array<float2>(size_t(STREAMS) * LENGTH, sample_at);
  auto* found = device_zeros<float2>(size_t(STREAMS) * THREADS);
  launch_twice([&] { blind_pll_bank<<<STREAMS, THREADS>>>(reinterpret_cast<const float4*>(samples), found); });
  bool ok = true;
  for (int stream : {0, 700, STREAMS - 1})
    for (int candidate : {100, 128, 150}) {
      Loop loop = {0.f, start_frequency(candidate), 0.f};
      for (int n = 0; n < LENGTH; ++n) {
        float2 sample = sample_at((size_t(stream) * LENGTH + n) % PATTERN);
        loop.step(sample.x, sample.y);
      }
      float2 got = peek(found, size_t(stream) * THREADS + candidate);
      ok = ok && std::fabs(got.x - loop.frequency) < 1e-3 && close_to(got.y, loop.power, 1e-2);
    }
  return finish(ok);
}
