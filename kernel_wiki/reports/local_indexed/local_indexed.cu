// A 12-tap filter whose window is an array with a moving start, written twice so that it reads as one stretch: the start is known at run
// time only, so that the array lives in local memory. 14 of about 33 instructions a step are local loads and stores that hit in L1, and the
// load-store unit takes one a cycle: 15 cycles a step where issue needs 8. A stack frame of 96 bytes, no spill.
#include "../evidence.cuh"

constexpr int THREADS = 256, TAPS = 12, STEPS = 252;

struct Taps {
  float tap[TAPS];
};

__global__ void local_indexed(const float* __restrict__ x, float* __restrict__ y, Taps taps) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float window[2 * TAPS] = {}, power = 0.f;
  int newest = 0;
#pragma unroll 1
  for (int step = 0; step < STEPS; ++step) {
    newest = newest ? newest - 1 : TAPS - 1;
    window[newest] = window[newest + TAPS] = x[i + step];
    float sum = 0.f;
#pragma unroll
    for (int k = 0; k < TAPS; ++k) sum = fmaf(taps.tap[k], window[newest + k], sum);
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
  launch_twice([&] { local_indexed<<<blocks, THREADS>>>(x, y, make_taps()); });
  return finish(close_to(peek(y, 4321), expected(4321)));
}
