// Gathers sixteen matched 8x8 patches of an image into shared memory for collaborative denoising and averages them, each 32-byte patch row by
// one bulk copy: 128 of them for 4 KiB. 8.4 M copies are 64 k an SM, which its copy engine takes one after another while L2, where the
// 16 MB image stays, delivers 268 MB at a fraction of its rate. Rows of a whole search window, or plain loads, would not wait for the engine.
#include "../evidence.cuh"

#include <cstdint>

constexpr int SIDE = 2048, PATCHES = 16, PATCH_SIDE = 8, ROWS = PATCHES * PATCH_SIDE, THREADS = 64, STAGES = 2, BLOCKS = 132 * 16, GROUPS = BLOCKS * 31;
constexpr int ROW_BYTES = PATCH_SIDE * int(sizeof(float));

// Where patch `i` begins, as an index into the image; columns are multiples of 8 pixels.
static unsigned origin(size_t i) {
  unsigned hash = (unsigned(i) + 1u) * 2654435761u;
  hash ^= hash >> 13;
  return (hash >> 8) % (SIDE - PATCH_SIDE + 1) * SIDE + (hash & 0xff) % (SIDE / 8) * 8;
}

__device__ static void request(uint32_t destination, const float* source, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(destination), "l"(source), "n"(ROW_BYTES),
               "r"(barrier)
               : "memory");
}

__device__ static void await(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra finished;\nbra again;\nfinished:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

__global__ __launch_bounds__(THREADS) void held_patch_gather(const float* __restrict__ image, const unsigned* __restrict__ origins, float* __restrict__ out) {
  __shared__ __align__(128) float pixels[STAGES][ROWS * PATCH_SIDE];
  __shared__ __align__(8) uint64_t full[STAGES];
  if (threadIdx.x == 0) {
    for (auto& barrier : full) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(uint32_t(__cvta_generic_to_shared(&barrier))) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  auto fill = [&](int group, int stage) {
    uint32_t barrier = uint32_t(__cvta_generic_to_shared(&full[stage]));
    if (threadIdx.x == 0) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "n"(ROWS* ROW_BYTES) : "memory");
#pragma unroll
    for (int first = 0; first < ROWS; first += THREADS) {
      int row = first + threadIdx.x;
      request(uint32_t(__cvta_generic_to_shared(&pixels[stage][row * PATCH_SIDE])),
              image + origins[group * PATCHES + row / PATCH_SIDE] + row % PATCH_SIDE * SIDE, barrier);
    }
  };
  int filling = blockIdx.x;
#pragma unroll 1
  for (int stage = 0; stage < STAGES; ++stage, filling += BLOCKS)
    if (filling < GROUPS) fill(filling, stage);
  int stage = 0, parity = 0;
  for (int group = blockIdx.x; group < GROUPS; group += BLOCKS, filling += BLOCKS) {
    await(uint32_t(__cvta_generic_to_shared(&full[stage])), parity);
    float sum = 0.f;
#pragma unroll
    for (int patch = 0; patch < PATCHES; ++patch) sum += pixels[stage][patch * THREADS + threadIdx.x];
    out[group * THREADS + threadIdx.x] = sum / PATCHES;
    __syncthreads();  // everyone has read the stage
    if (filling < GROUPS) fill(filling, stage);
    stage = (stage + 1) % STAGES;
    parity ^= stage == 0;
  }
}

int main() {
  auto pixel_at = [](size_t i) { return float((i * 7919) % 1021) / 1021.f; };
  auto* image = device_array<float>(size_t(SIDE) * SIDE, pixel_at);
  auto* origins = device_array<unsigned>(size_t(GROUPS) * PATCHES, origin);
  auto* out = device_zeros<float>(size_t(GROUPS) * THREADS);
  launch_twice([&] { held_patch_gather<<<BLOCKS, THREADS>>>(image, origins, out); });
  bool ok = true;
  for (int group : {0, 4321, GROUPS - 1})
    for (int pixel : {0, 37, 63}) {
      double sum = 0;
      for (int patch = 0; patch < PATCHES; ++patch)
        sum += pixel_at((origin(size_t(group) * PATCHES + patch) + pixel / PATCH_SIDE * SIDE + pixel % PATCH_SIDE) % PATTERN);
      ok = ok && close_to(peek(out, size_t(group) * THREADS + pixel), sum / PATCHES);
    }
  return finish(ok);
}
