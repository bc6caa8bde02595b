// Appends the keys of a prefill to a cache kept as [channel][token], scaled a channel. Threads follow the channels, so each 2-byte store of a
// warp falls into a sector of its own, 16 KB from the next: 32 sectors a request where 2 would do. 16.8 M stores make 0.54 GB of sector
// writes for 34 MB of results; the 67 MB that have to move would take 16 us.
#include <cuda_bf16.h>

#include "../evidence.cuh"

constexpr int TOKENS = 8192, CHANNELS = 2048, THREADS = 256;

__global__ void held_kv_cache_transpose(const __nv_bfloat16* __restrict__ keys, const float* __restrict__ scale,
                                        __nv_bfloat16* __restrict__ cache) {
  int channel = blockIdx.x * THREADS + threadIdx.x;
  int token = blockIdx.y;
  float key = __bfloat162float(keys[size_t(token) * CHANNELS + channel]);
  cache[size_t(channel) * TOKENS + token] = __float2bfloat16(key * scale[channel]);
}

int main() {
  auto key = [](size_t i) { return __float2bfloat16(float(i % 9973) / 997.f - 4.f); };
  auto factor = [](size_t i) { return 0.5f + float(i % 61) / 64.f; };
  auto* keys = device_array<__nv_bfloat16>(size_t(TOKENS) * CHANNELS, key);
  auto* scale = device_array<float>(CHANNELS, factor);
  auto* cache = device_zeros<__nv_bfloat16>(size_t(TOKENS) * CHANNELS);
  launch_twice([&] { held_kv_cache_transpose<<<dim3(CHANNELS / THREADS, TOKENS), THREADS>>>(keys, scale, cache); });
  bool ok = true;
  for (size_t token : {0, 77, 4099, 8191})
    for (size_t channel : {0, 31, 1000, 2047}) {
      float expected = __bfloat162float(key((token * CHANNELS + channel) % PATTERN)) * factor(channel);
      ok = ok && close_to(__bfloat162float(peek(cache, channel * TOKENS + token)), expected, 1e-2);
    }
  return finish(ok);
}
