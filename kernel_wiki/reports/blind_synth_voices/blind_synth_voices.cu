// A synthesizer bank: one voice a thread, each of eight oscillator kinds, twice oversampled. Kinds are mixed within a warp, so every subsample
// issues all eight cases, each for ~4 of 32 lanes: ~350 instructions where ~50 are needed (4096 warps x 256 subsamples x 350 / 528 schedulers =
// 0.7M cycles, 0.37 ms). Second: audio is voice-major, a warp's store meets 32 rows (32 sectors where 4 would do; ~0.1 ms of L2 writes).
#include "../evidence.cuh"

constexpr int VOICES = 1 << 17, SAMPLES = 128, OVERSAMPLED = 2, THREADS = 256;
constexpr float TURN = 6.2831853f;

struct Voice {
  int kind;
  unsigned step;  // of the phase, in 2^-32 turns a subsample
  float level;
};

__host__ __device__ inline float sine(float radians) {
#ifdef __CUDA_ARCH__
  return __sinf(radians);
#else
  return std::sin(radians);
#endif
}

// What rounds off a step at t = 0 (polyBLEP).
__host__ __device__ inline float blep(float t, float dt) {
  if (t < dt) {
    float u = t / dt;
    return u + u - u * u - 1.f;
  }
  if (t > 1.f - dt) {
    float u = (t - 1.f) / dt;
    return u * u + u + u + 1.f;
  }
  return 0.f;
}

__host__ __device__ inline float fraction(unsigned phase) { return float(phase >> 8) * (1.f / 16777216.f); }

__host__ __device__ inline float oscillate(int kind, unsigned phase, float dt, float& state, unsigned& noise) {
  float t = fraction(phase);
  switch (kind) {
    case 0: {  // drawbars
      float a = TURN * (t - 0.5f);
      return 0.5f * sine(a) + 0.25f * sine(2 * a) + 0.2f * sine(3 * a) + 0.1f * sine(4 * a);
    }
    case 1: return 2.f * t - 1.f - blep(t, dt);
    case 2: {  // square
      float s = t < 0.5f ? 1.f : -1.f;
      return s + blep(t, dt) - blep(fraction(phase + 0x80000000u), dt);
    }
    case 3: {  // triangle: a leaky integral of the square
      float s = t < 0.5f ? 1.f : -1.f;
      s += blep(t, dt) - blep(fraction(phase + 0x80000000u), dt);
      state = 4.f * dt * s + 0.999f * state;
      return state;
    }
    case 4: {  // two operators of frequency modulation
      float m = sine(TURN * (fraction(phase * 3u) - 0.5f));
      float n = sine(TURN * (fraction(phase * 2u) - 0.5f) + 0.7f * m);
      return sine(TURN * (t - 0.5f) + 1.5f * n);
    }
    case 5: {  // filtered noise
      noise ^= noise << 13;
      noise ^= noise >> 17;
      noise ^= noise << 5;
      float white = float(noise >> 8) * (1.f / 8388608.f) - 1.f;
      state += 0.2f * (white - state);
      return state * (1.5f - 0.5f * state * state);
    }
    case 6: {  // overdriven saw
      float x = 2.5f * (2.f * t - 1.f - blep(t, dt));
      return x * (27.f + x * x) / (27.f + 9.f * x * x);
    }
    default: {  // wave folder: the fifth Chebyshev polynomial, smoothed
      float x = sine(TURN * (t - 0.5f));
      float y = x * (5.f + x * x * (16.f * x * x - 20.f));
      state += 0.5f * (y - state);
      return state;
    }
  }
}

__global__ void blind_synth_voices(const Voice* __restrict__ voices, float* __restrict__ audio) {
  int v = blockIdx.x * THREADS + threadIdx.x;
  Voice voice = voices[v];
  unsigned phase = 0, noise = v + 1;
  float state = 0.f, dt = fraction(voice.step);
  for (int n = 0; n < SAMPLES; ++n) {
    float sum = 0.f;
#pragma unroll 1
    for (int i = 0; i < OVERSAMPLED; ++i) sum += oscillate(voice.kind, phase += voice.step, dt, state, noise);
    audio[size_t(v) * SAMPLES + n] = sum * (voice.level / OVERSAMPLED);
  }
}

static Voice voice_at(size_t i) {
  unsigned hash = unsigned(i + 1) * 2654435761u;
  hash ^= hash >> 15;
  return {int(hash >> 4 & 7), 1000003u * (10 + (hash >> 8 & 63)), 0.25f + float(hash >> 20 & 15) / 32};
}

int main() {
  auto* voices = device_array<Voice>(VOICES, voice_at);
  auto* audio = device_zeros<float>(size_t(VOICES) * SAMPLES);
  launch_twice([&] { blind_synth_voices<<<VOICES / THREADS, THREADS>>>(voices, audio); });
  bool ok = true;
  for (int v = 40000; v < 40032; ++v) {
    Voice voice = voice_at(v);
    unsigned phase = 0, noise = v + 1;
    float state = 0.f, dt = fraction(voice.step);
    for (int n = 0; n < SAMPLES; ++n) {
      float sum = 0.f;
      for (int i = 0; i < OVERSAMPLED; ++i) sum += oscillate(voice.kind, phase += voice.step, dt, state, noise);
      float expected = sum * (voice.level / OVERSAMPLED);
      if (n % 85 == 0 || n == SAMPLES - 1) ok = ok && close_to(peek(audio, size_t(v) * SAMPLES + n), expected, 1e-2);
    }
  }
  return finish(ok);
}
