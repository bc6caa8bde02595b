// A causal depthwise convolution with 256 taps along the sequence. A thread keeps 16 outputs, 32 inputs and 16 taps in registers: 256 FMAs to
// 8 conflict-free 16-byte loads from shared memory (a row of 16 is padded to 20 words). 4.3 G FMAs take 130 to 140 us at the pipes' full rate;
// 134 MB take 32 us, and the FMAs are 95 % of the instructions.
#include "../evidence.cuh"

constexpr int SEQUENCES = 2048, LENGTH = 8192, TAPS = 256, THREADS = 128, EACH = 16, SPAN = THREADS * EACH;

static __device__ __forceinline__ int padded(int position) { return position + position / EACH * 4; }

static __device__ __forceinline__ void read16(float (&to)[EACH], const float* from) {
#pragma unroll
  for (int i = 0; i < EACH; i += 4) {
    float4 four = *reinterpret_cast<const float4*>(from + i);
    to[i] = four.x;
    to[i + 1] = four.y;
    to[i + 2] = four.z;
    to[i + 3] = four.w;
  }
}

static __device__ __forceinline__ void accumulate(float (&sum)[EACH], const float (&tap)[EACH], const float (&low)[EACH],
                                                  const float (&high)[EACH]) {
#pragma unroll
  for (int j = 0; j < EACH; ++j)
#pragma unroll
    for (int o = 0; o < EACH; ++o) sum[o] += tap[j] * (o + j < EACH ? low[o + j] : high[o + j - EACH]);
}

__global__ __launch_bounds__(THREADS, 5) void held_long_conv(const float* __restrict__ x, const float* __restrict__ weight,
                                                             float* __restrict__ y) {
  __shared__ __align__(16) float window[(SPAN + TAPS) / EACH * (EACH + 4)], taps[TAPS];
  int begin = blockIdx.x * SPAN, t = threadIdx.x;
  x += size_t(blockIdx.y) * LENGTH;
  y += size_t(blockIdx.y) * LENGTH + begin;
  weight += size_t(blockIdx.y) * TAPS;
#pragma unroll
  for (int step = 0; step < TAPS / THREADS; ++step) taps[TAPS - 1 - step * THREADS - t] = weight[step * THREADS + t];
  constexpr int STEPS = (SPAN + TAPS) / THREADS;
  float loaded[STEPS];  // position p of the window is input begin - 255 + p; loads start a sector earlier, and its first word goes last
#pragma unroll
  for (int step = 0; step < STEPS; ++step)
    loaded[step] = step < TAPS / THREADS && begin == 0 ? 0.f : x[begin - TAPS + step * THREADS + t];
  int position = t - 1 + ((t - 1) >> 4) * 4;
#pragma unroll
  for (int step = 0; step < STEPS; ++step)
    window[step == 0 && t == 0 ? padded(SPAN + TAPS - 1) : position + step * THREADS / EACH * (EACH + 4)] = loaded[step];
  __syncthreads();
  const float* mine = window + t * (EACH + 4);
  float sum[EACH] = {}, low[EACH], high[EACH], tap[EACH];
  read16(low, mine);
#pragma unroll 1
  for (int chunk = 0; chunk < TAPS / EACH; chunk += 2) {
    read16(tap, taps + chunk * EACH);
    read16(high, mine + (chunk + 1) * (EACH + 4));
    accumulate(sum, tap, low, high);
    read16(tap, taps + (chunk + 1) * EACH);
    read16(low, mine + (chunk + 2) * (EACH + 4));
    accumulate(sum, tap, high, low);
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < EACH; i += 4)
    *reinterpret_cast<float4*>(window + t * (EACH + 4) + i) = make_float4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3]);
  __syncthreads();
#pragma unroll
  for (int step = 0; step < SPAN; step += THREADS * 4) {
    int i = step + t * 4;
    *reinterpret_cast<float4*>(y + i) = *reinterpret_cast<const float4*>(window + padded(i));
  }
}

int main() {
  auto input = [](size_t i) { return float(i * 11 % 1013) / 1013.f - 0.4f; };
  auto filter = [](size_t i) { return float(i * 5 % 509) / 509.f - 0.3f; };
  auto* x = device_array<float>(size_t(SEQUENCES) * LENGTH, input);
  auto* weight = device_array<float>(size_t(SEQUENCES) * TAPS, filter);
  auto* y = device_zeros<float>(size_t(SEQUENCES) * LENGTH);
  launch_twice([&] { held_long_conv<<<dim3(LENGTH / SPAN, SEQUENCES), THREADS>>>(x, weight, y); });
  bool ok = true;
  for (size_t sequence : {0, 555, 2047})
    for (size_t at : {0, 100, 2047, 2048, 5003, 8191}) {
      double expected = 0;
      for (size_t j = 0; j < TAPS && j <= at; ++j)
        expected += double(filter((sequence * TAPS + j) % PATTERN)) * input((sequence * LENGTH + at - j) % PATTERN);
      ok = ok && close_to(peek(y, sequence * LENGTH + at), expected);
    }
  return finish(ok);
}
