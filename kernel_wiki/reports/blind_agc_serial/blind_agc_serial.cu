// Automatic gain control of 528 audio streams, a block each, in frames of 512 samples. The envelope follower is a recurrence, so thread 0 walks the
// frame while 511 threads wait at the barrier: 512 steps x ~20 cycles = 10k cycles of a frame, against ~1.5k cycles for the parallel rest (one
// exposed load, a division, a store). 16 frames = 190k cycles, ~100 us, of which 34 MB of traffic would take 8.
#include "../evidence.cuh"

constexpr int STREAMS = 132 * 4, FRAME = 512, FRAMES = 16;
constexpr float ATTACK = 0.2f, RELEASE = 0.002f, TARGET = 0.5f;

__host__ __device__ inline float follow(float envelope, float level) {
  float rate = level > envelope ? ATTACK : RELEASE;
  return envelope + rate * (level - envelope);
}

__global__ __launch_bounds__(FRAME) void blind_agc_serial(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float level[FRAME];
  __shared__ float envelope[FRAME];
  size_t at = size_t(blockIdx.x) * FRAME * FRAMES + threadIdx.x;
  float last = 0.f;
  for (int frame = 0; frame < FRAMES; ++frame, at += FRAME) {
    float x = in[at];
    level[threadIdx.x] = fabsf(x);
    __syncthreads();
    if (threadIdx.x == 0)
      for (int n = 0; n < FRAME; ++n) {
        last = follow(last, level[n]);
        envelope[n] = last;
      }
    __syncthreads();
    out[at] = x * TARGET / (envelope[threadIdx.x] + 0.05f);
  }
}

static float sample_at(size_t i) {
  unsigned hash = unsigned(i) * 2654435761u;
  hash ^= hash >> 15;
  return float(std::sin(0.05 * double(i)) * (0.2 + 0.8 * double(i >> 11 & 3) / 3) + double(hash & 1023) / 10240);
}

int main() {
  size_t count = size_t(STREAMS) * FRAME * FRAMES;
  auto* in = device_array<float>(count, sample_at);
  auto* out = device_zeros<float>(count);
  launch_twice([&] { blind_agc_serial<<<STREAMS, FRAME>>>(in, out); });
  bool ok = true;
  for (int stream : {0, 301, STREAMS - 1}) {
    float envelope = 0.f;
    for (int n = 0; n < FRAME * FRAMES; ++n) {
      size_t at = size_t(stream) * FRAME * FRAMES + n;
      float x = sample_at(at % PATTERN);
      envelope = follow(envelope, std::fabs(x));
      if (n % 1311 == 7) ok = ok && close_to(peek(out, at), x * TARGET / (envelope + 0.05f), 1e-2);
    }
  }
  return finish(ok);
}
