// Attention of one new token over a cache of 4096 for 4 sequences of 8 heads: a block a head, so 32 blocks on 132 SMs, no split along the
// cache. A warp takes one key at a time and waits for it: 256 + 256 bytes in flight a warp, 8 warps an SM, one DRAM latency (0.8 us) for each
// of 512 keys. 67 MB at about 0.15 TB/s, 3 % of the peak, on a quarter of the SMs.
#include <cuda_bf16.h>

#include "../evidence.cuh"

constexpr int HEADS = 4 * 8, CONTEXT = 4096, DIM = 128, WARPS = 8;

static __device__ __forceinline__ float4 widened(uint2 packed) {
  return make_float4(__uint_as_float(packed.x << 16), __uint_as_float(packed.x & 0xffff0000u), __uint_as_float(packed.y << 16),
                     __uint_as_float(packed.y & 0xffff0000u));
}

__global__ void held_decode_attention(const float4* __restrict__ query, const uint2* __restrict__ key, const uint2* __restrict__ value,
                                      float* __restrict__ out) {
  __shared__ float peaks[WARPS], totals[WARPS], sums[WARPS][DIM];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float4 q = query[blockIdx.x * 32 + lane], sum = make_float4(0.f, 0.f, 0.f, 0.f);
  float peak = -INFINITY, total = 0.f;
#pragma unroll 1
  for (int token = warp; token < CONTEXT; token += WARPS) {
    size_t at = (size_t(blockIdx.x) * CONTEXT + token) * 32 + lane;
    float4 k = widened(key[at]), v = widened(value[at]);
    float score = q.x * k.x + q.y * k.y + q.z * k.z + q.w * k.w;
    for (int offset = 16; offset; offset /= 2) score += __shfl_xor_sync(~0u, score, offset);
    score *= 0.08838835f;
    float higher = fmaxf(peak, score);
    float keep = __expf(peak - higher), weight = __expf(score - higher);
    peak = higher;
    total = total * keep + weight;
    sum.x = sum.x * keep + weight * v.x;
    sum.y = sum.y * keep + weight * v.y;
    sum.z = sum.z * keep + weight * v.z;
    sum.w = sum.w * keep + weight * v.w;
  }
  if (lane == 0) {
    peaks[warp] = peak;
    totals[warp] = total;
  }
  sums[warp][lane * 4] = sum.x;
  sums[warp][lane * 4 + 1] = sum.y;
  sums[warp][lane * 4 + 2] = sum.z;
  sums[warp][lane * 4 + 3] = sum.w;
  __syncthreads();
  if (threadIdx.x >= DIM) return;
  float highest = peaks[0], all = 0.f, result = 0.f;
  for (int w = 1; w < WARPS; ++w) highest = fmaxf(highest, peaks[w]);
  for (int w = 0; w < WARPS; ++w) {
    float keep = __expf(peaks[w] - highest);
    all += totals[w] * keep;
    result += sums[w][threadIdx.x] * keep;
  }
  out[blockIdx.x * DIM + threadIdx.x] = result / all;
}

int main() {
  auto q = [](size_t i) { return float(i % 251) / 125.f - 1.f; };
  auto k = [](size_t i) { return __float2bfloat16(float(i * 31 % 2003) / 1000.f - 1.f); };
  auto v = [](size_t i) { return __float2bfloat16(float(i * 17 % 1021) / 1021.f); };
  auto* query = device_array<float>(HEADS * DIM, q);
  auto* key = device_array<__nv_bfloat16>(size_t(HEADS) * CONTEXT * DIM, k);
  auto* value = device_array<__nv_bfloat16>(size_t(HEADS) * CONTEXT * DIM, v);
  auto* out = device_zeros<float>(HEADS * DIM);
  launch_twice([&] {
    held_decode_attention<<<HEADS, WARPS * 32>>>(reinterpret_cast<const float4*>(query), reinterpret_cast<const uint2*>(key),
                                                 reinterpret_cast<const uint2*>(value), out);
  });
  bool ok = true;
  for (size_t head : {0, 19, 31}) {
    double total = 0, sum = 0;
    for (size_t token = 0; token < CONTEXT; ++token) {
      size_t row = (head * CONTEXT + token) * DIM;
      double score = 0;
      for (size_t d = 0; d < DIM; ++d) score += double(q(head * DIM + d)) * __bfloat162float(k((row + d) % PATTERN));
      double weight = std::exp(score * 0.08838835);
      total += weight;
      sum += weight * __bfloat162float(v((row + 77) % PATTERN));
    }
    ok = ok && close_to(peek(out, head * DIM + 77), sum / total, 2e-3);
  }
  return finish(ok);
}
