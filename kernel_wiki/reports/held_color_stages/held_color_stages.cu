// A camera's colour pipeline "fused" by putting its stages one after another into one kernel, each a sweep over all of the image that leaves
// its result in global memory: black level and gain, then contrast, then a tone curve. A sweep is 2 x 96 MiB, twice the L2, so 600 MB
// cross DRAM where reading once and writing once moves 200 MB: three times the traffic, at close to the full DRAM rate.
#include "../evidence.cuh"

constexpr int THREADS = 512, BLOCKS = 132 * 4;
constexpr size_t QUADS = 6 << 20;  // four floats each: 96 MiB

__host__ __device__ static float levelled(float x) { return fmaxf(x - 0.0625f, 0.f) * 1.75f; }
__host__ __device__ static float contrasted(float x) { return x * x * (3.f - 2.f * x) * 0.5f + x * 0.5f; }
__host__ __device__ static float toned(float x) { return x * (1.6f - 0.6f * x); }

template <float (*STAGE)(float)>
__device__ static void sweep(const float4* in, float4* out) {
#pragma unroll 4
  for (size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x; i < QUADS; i += size_t(BLOCKS) * THREADS) {
    float4 pixel = in[i];
    out[i] = make_float4(STAGE(pixel.x), STAGE(pixel.y), STAGE(pixel.z), STAGE(pixel.w));
  }
}

__global__ __launch_bounds__(THREADS) void held_color_stages(const float4* __restrict__ raw, float4* image) {
  sweep<levelled>(raw, image);
  sweep<contrasted>(image, image);
  sweep<toned>(image, image);
}

int main() {
  auto value_at = [](size_t i) { return float((i * 7919) % 1021) / 1021.f; };
  auto* raw = device_array<float>(QUADS * 4, value_at);
  auto* image = device_zeros<float>(QUADS * 4);
  launch_twice([&] { held_color_stages<<<BLOCKS, THREADS>>>(reinterpret_cast<float4*>(raw), reinterpret_cast<float4*>(image)); });
  bool ok = true;
  for (size_t i : {size_t(3), size_t(12345678), QUADS * 4 - 1}) ok = ok && close_to(peek(image, i), toned(contrasted(levelled(value_at(i % PATTERN)))));
  return finish(ok);
}
