// The cure of low_occupancy_blocksize: eight warps a block, each with the stretch that was a block before, so that the limit of 32 blocks
// no longer stops at half of the warps. 64 loads an SM are in flight in place of 32, and the rate doubles.
#include "../evidence.cuh"

constexpr int WARP = 32, WARPS = 8, STEPS = 64;

__global__ void occupancy_blocksize_cured(const float* __restrict__ x, float* __restrict__ y) {
  int stretch = blockIdx.x * WARPS + threadIdx.x / WARP, lane = threadIdx.x % WARP;
  const float* in = x + size_t(stretch) * STEPS * WARP + lane;
  float sum = 0.f;
#pragma unroll 1
  for (int step = 0; step < STEPS; ++step) sum = sum * 0.5f + in[step * WARP];
  y[stretch * WARP + lane] = sum;
}

int main() {
  int stretches = sm_count() * 32 * 8;
  auto* x = device_array<float>(size_t(stretches) * STEPS * WARP, [](size_t) { return 0.5f; });
  auto* y = device_zeros<float>(size_t(stretches) * WARP);
  launch_twice([&] { occupancy_blocksize_cured<<<stretches / WARPS, WARPS * WARP>>>(x, y); });
  return finish(close_to(peek(y, 4321), 1.0));  // the sum of 0.5 and its halves
}
