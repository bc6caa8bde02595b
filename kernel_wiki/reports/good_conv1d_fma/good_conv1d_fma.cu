// A filter of 512 taps over a long fp32 signal: 20 neighbouring outputs a thread, inputs and taps from shared memory as 16-byte loads (20
// words from lane to lane meet all banks), the window slides through registers. 640 FMA for 21 shared loads: the FMA pipe is the limit, and
// 170 MB of traffic is a tenth of what DRAM could move meanwhile.
#include "../evidence.cuh"

constexpr int TAPS = 512, CHUNK = 32, OUTPUTS = 20, THREADS = 256, TILE = OUTPUTS * THREADS;

static __device__ float4 load4(const float* p) { return *reinterpret_cast<const float4*>(p); }

__global__ __launch_bounds__(THREADS, 3) void good_conv1d_fma(const float* __restrict__ x, const float* __restrict__ taps, float* __restrict__ y) {
  __shared__ __align__(16) float signal[TILE + TAPS], weight[TAPS];
  const float* in = x + size_t(blockIdx.x) * TILE;
  for (int i = threadIdx.x * 4; i < TILE + TAPS; i += THREADS * 4) *reinterpret_cast<float4*>(&signal[i]) = load4(&in[i]);
  for (int i = threadIdx.x; i < TAPS; i += THREADS) weight[i] = taps[i];
  __syncthreads();
  const float* mine = signal + threadIdx.x * OUTPUTS;
  float sum[OUTPUTS] = {};
#pragma unroll 1
  for (int k0 = 0; k0 < TAPS; k0 += CHUNK) {
    float window[OUTPUTS + CHUNK];
#pragma unroll
    for (int i = 0; i < OUTPUTS + CHUNK; i += 4) *reinterpret_cast<float4*>(&window[i]) = load4(&mine[k0 + i]);
#pragma unroll
    for (int k = 0; k < CHUNK; k += 4) {
      const float4 w = load4(&weight[k0 + k]);
#pragma unroll
      for (int i = 0; i < OUTPUTS; ++i)
        sum[i] = fmaf(window[i + k + 3], w.w, fmaf(window[i + k + 2], w.z, fmaf(window[i + k + 1], w.y, fmaf(window[i + k], w.x, sum[i]))));
    }
  }
  __syncthreads();  // the outputs leave through shared memory, so that their stores are coalesced
#pragma unroll
  for (int i = 0; i < OUTPUTS; i += 4)
    *reinterpret_cast<float4*>(&signal[threadIdx.x * OUTPUTS + i]) = make_float4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3]);
  __syncthreads();
  for (int i = threadIdx.x * 4; i < TILE; i += THREADS * 4) *reinterpret_cast<float4*>(&y[size_t(blockIdx.x) * TILE + i]) = load4(&signal[i]);
}

int main() {
  const int blocks = sm_count() * 3 * 10;
  const size_t count = size_t(blocks) * TILE, at = count - 4321;
  auto* x = device_array<float>(count + TAPS, [](size_t i) { return float(i % 37) * 0.25f; });
  auto* taps = device_array<float>(TAPS, [](size_t i) { return float(i % 5) * 0.5f - 0.75f; });
  auto* y = device_zeros<float>(count);
  launch_twice([&] { good_conv1d_fma<<<blocks, THREADS>>>(x, taps, y); });
  double expected = 0;
  for (int k = 0; k < TAPS; ++k) expected += double(peek(x, at + k)) * peek(taps, k);
  return finish(close_to(peek(y, at), expected));
}
