// Dequantises 8-bit blockwise weights (256-entry dynamic code, one scale per 64 weights) to half, with the code table in constant memory.
// Weights are random, so a warp asks for about 30 different constants at a time and each LDC is served address by address:
// 1 M warp lookups x 30 = 31 M passes, >= 130 us at one a clock and SM, where DRAM (33 MB in, 67 MB out) would need 25 us.
#include "../evidence.cuh"

#include <cuda_fp16.h>

constexpr size_t WEIGHTS = size_t(1) << 25;
constexpr int THREADS = 256, SCALE_BLOCK = 64;

static __constant__ float code_table[256];

// Sign, then an exponent-like step of seven decades, denser towards zero.
static float code_value(int code) {
  int magnitude = code & 127;
  float value = float(16 + magnitude % 16) / 32.f * std::exp2(float(magnitude / 16) - 7.f);
  return code < 128 ? -value : value;
}

static unsigned char code_of(size_t i) {
  unsigned h = unsigned(i) * 2654435761u;
  h ^= h >> 15;
  h *= 0x85ebca6bu;
  return static_cast<unsigned char>(h >> 23);
}

__global__ __launch_bounds__(THREADS) void blind_dequant_codebook(const uchar4* __restrict__ codes, const float* __restrict__ scales,
                                                                  uint2* __restrict__ weights) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  uchar4 code = codes[i];
  float scale = scales[i * 4 / SCALE_BLOCK];
  __half2 low = __floats2half2_rn(code_table[code.x] * scale, code_table[code.y] * scale);
  __half2 high = __floats2half2_rn(code_table[code.z] * scale, code_table[code.w] * scale);
  weights[i] = make_uint2(*reinterpret_cast<unsigned*>(&low), *reinterpret_cast<unsigned*>(&high));
}

int main() {
  std::vector<float> table(256);
  for (int code = 0; code < 256; ++code) table[code] = code_value(code);
  CUDA_CHECK(cudaMemcpyToSymbol(code_table, table.data(), 256 * sizeof(float)));
  auto* codes = device_array<unsigned char>(WEIGHTS, code_of);
  auto* scales = device_array<float>(WEIGHTS / SCALE_BLOCK, [](size_t i) { return 0.5f + float(i % 61) * 0.03f; });
  auto* weights = device_zeros<__half>(WEIGHTS);
  launch_twice([&] {
    blind_dequant_codebook<<<WEIGHTS / 4 / THREADS, THREADS>>>(reinterpret_cast<const uchar4*>(codes), scales,
                                                              reinterpret_cast<uint2*>(weights));
  });
  bool ok = true;
  for (size_t i : {size_t(0), size_t(70001), size_t(9999999), WEIGHTS - 1}) {
    float expected = code_value(code_of(i % PATTERN)) * (0.5f + float(i / SCALE_BLOCK % PATTERN % 61) * 0.03f);
    ok = ok && std::fabs(__half2float(peek(weights, i)) - expected) <= 1e-3 * std::fabs(expected) + 1e-6;
  }
  return finish(ok);
}
