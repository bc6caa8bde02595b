// The cure of local_indexed: twelve steps unrolled are one turn of the ring, every index is a constant and the window stays in registers.
// No local access is left; 13 FMAs of about 15 instructions a step become the limit.
#include "../evidence.cuh"

constexpr int THREADS = 256, TAPS = 12, STEPS = 252;

struct Taps {
  float tap[TAPS];
};

__global__ void local_registers(const float* __restrict__ x, float* __restrict__ y, Taps taps) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float window[TAPS] = {}, power = 0.f;
#pragma unroll 1
  for (int from = 0; from < STEPS; from += TAPS)
#pragma unroll
    for (int step = 0; step < TAPS; ++step) {  // the place of the newest sample is a constant of each copy
      window[step] = x[i + from + step];
      float sum = 0.f;
#pragma unroll
      for (int k = 0; k < TAPS; ++k) sum = fmaf(taps.tap[k], window[(step - k + TAPS) % TAPS], sum);
      power = fmaf(sum, sum, power);
    }
  y[i] = power;
}

static Taps make_taps() {
  Taps taps;
  for (int k = 0; k < TAPS; ++k) taps.tap[k] = 1.f / float(k + 1);
  return taps;
}

static float sample(size_t i) { return float(i % 31) * 0.125f - 1.f; }

static double expected(size_t i) {
  Taps taps = make_taps();
  double power = 0;
  for (int step = 0; step < STEPS; ++step) {
    double sum = 0;
    for (int k = 0; k <= std::min(step, TAPS - 1); ++k) sum += double(taps.tap[k]) * sample(i + step - k);
    power += sum * sum;
  }
  return power;
}

int main() {
  int blocks = sm_count() * 8 * 2;
  size_t count = size_t(blocks) * THREADS;
  auto* x = device_array<float>(count + STEPS, sample);
  auto* y = device_zeros<float>(count);
  launch_twice([&] { local_registers<<<blocks, THREADS>>>(x, y, make_taps()); });
  return finish(close_to(peek(y, 4321), expected(4321)));
}
