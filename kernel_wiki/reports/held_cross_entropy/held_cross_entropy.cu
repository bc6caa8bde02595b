// Cross entropy of 8192 tokens over 16384 bf16 logits in one online pass: 64 bytes a thread in flight, one rescaling for 32 logits, a warp
// reduction and one barrier a row. 268 MB are read once, 62 us at 90 % of HBM; the exponentials fill about half of the MUFU pipe.
#include <cuda_bf16.h>

#include "../evidence.cuh"

constexpr int ROWS = 8192, VOCABULARY = 16384, THREADS = 256, WARPS = THREADS / 32, LOADS = 4;
constexpr float LOG2E = 1.44269504f;

static __device__ __forceinline__ float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__global__ __launch_bounds__(THREADS) void held_cross_entropy(const __nv_bfloat16* __restrict__ logits, const int* __restrict__ target,
                                                              float* __restrict__ loss) {
  __shared__ float peaks[WARPS], totals[WARPS];
  const __nv_bfloat16* row = logits + size_t(blockIdx.x) * VOCABULARY;
  auto* packed = reinterpret_cast<const uint4*>(row) + threadIdx.x;
  float peak = -1e30f, total = 0.f;
#pragma unroll 1
  for (int step = 0; step < VOCABULARY / 8 / THREADS; step += LOADS) {
    unsigned words[LOADS * 4];
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
      uint4 four = __ldcs(packed + (step + i) * THREADS);
      words[i * 4] = four.x;
      words[i * 4 + 1] = four.y;
      words[i * 4 + 2] = four.z;
      words[i * 4 + 3] = four.w;
    }
    float higher = peak;
#pragma unroll
    for (unsigned word : words) higher = fmaxf(higher, fmaxf(__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u)));
    float shift = -higher * LOG2E;
    total *= power_of_two(peak * LOG2E + shift);
    peak = higher;
#pragma unroll
    for (unsigned word : words)
      total += power_of_two(__uint_as_float(word << 16) * LOG2E + shift) + power_of_two(__uint_as_float(word & 0xffff0000u) * LOG2E + shift);
  }
  float highest = peak;
  for (int offset = 16; offset; offset /= 2) highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, offset));
  total *= power_of_two((peak - highest) * LOG2E);
  for (int offset = 16; offset; offset /= 2) total += __shfl_xor_sync(~0u, total, offset);
  if (threadIdx.x % 32 == 0) {
    peaks[threadIdx.x / 32] = highest;
    totals[threadIdx.x / 32] = total;
  }
  __syncthreads();
  if (threadIdx.x) return;
  for (int w = 0; w < WARPS; ++w) highest = fmaxf(highest, peaks[w]);
  float all = 0.f;
  for (int w = 0; w < WARPS; ++w) all += totals[w] * power_of_two((peaks[w] - highest) * LOG2E);
  loss[blockIdx.x] = highest + logf(all) - __bfloat162float(row[target[blockIdx.x]]);
}

int main() {
  auto logit = [](size_t i) { return __float2bfloat16(float(i * 31 % 10007) / 1000.f - 5.f + float(i % 37) / 37.f); };
  auto label = [](size_t i) { return int(i * 7919 % VOCABULARY); };
  auto* logits = device_array<__nv_bfloat16>(size_t(ROWS) * VOCABULARY, logit);
  auto* target = device_array<int>(ROWS, label);
  auto* loss = device_zeros<float>(ROWS);
  launch_twice([&] { held_cross_entropy<<<ROWS, THREADS>>>(logits, target, loss); });
  bool ok = true;
  for (size_t row : {0, 1, 2050, 8191}) {
    double total = 0;
    for (size_t j = 0; j < VOCABULARY; ++j) total += std::exp(double(__bfloat162float(logit((row * VOCABULARY + j) % PATTERN))));
    double expected = std::log(total) - __bfloat162float(logit((row * VOCABULARY + label(row)) % PATTERN));
    ok = ok && close_to(peek(loss, row), expected, 2e-3);
  }
  return finish(ok);
}
