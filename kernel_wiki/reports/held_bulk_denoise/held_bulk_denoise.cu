// Recursive temporal denoising, out = old + k(|new - old|) (new - old): two frames stream in by 8 KiB bulk copies, five stages of 16 KiB ahead
// in each of two blocks an SM (160 KiB in flight where 15 suffice), results leave by coalesced 16-byte stores. 300 MiB read and
// written once each take 70 us at 93 % of 4.8 TB/s: DRAM is the roof and nothing is left to repair.
#include "../evidence.cuh"

#include <cstdint>

constexpr int THREADS = 256, TILE = 2048, STAGES = 5, BLOCKS = 132 * 2, TILES = 12672;  // TILES / BLOCKS = 48
constexpr uint32_t TILE_BYTES = TILE * sizeof(float);
constexpr size_t COUNT = size_t(TILE) * TILES;

__host__ __device__ static float blended(float old, float now) {
  float change = now - old;
  return old + fminf(0.125f + fabsf(change) * 2.f, 1.f) * change;
}

__device__ static void request(uint32_t destination, const float* source, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(destination), "l"(source), "r"(TILE_BYTES),
               "r"(barrier)
               : "memory");
}

__global__ __launch_bounds__(THREADS, 2) void held_bulk_denoise(const float* __restrict__ old_frame, const float* __restrict__ new_frame,
                                                                float4* __restrict__ out) {
  extern __shared__ __align__(128) float4 tiles[];  // [STAGES][2][TILE / 4]
  __shared__ __align__(8) uint64_t full[STAGES];
  if (threadIdx.x == 0) {
    for (auto& barrier : full) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(uint32_t(__cvta_generic_to_shared(&barrier))) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  auto fill = [&](int tile, int stage) {
    uint32_t barrier = uint32_t(__cvta_generic_to_shared(&full[stage]));
    uint32_t destination = uint32_t(__cvta_generic_to_shared(tiles)) + stage * 2 * TILE_BYTES;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(2 * TILE_BYTES) : "memory");
    request(destination, old_frame + size_t(tile) * TILE, barrier);
    request(destination + TILE_BYTES, new_frame + size_t(tile) * TILE, barrier);
  };
  int filling = blockIdx.x;
  for (int stage = 0; stage < STAGES; ++stage, filling += BLOCKS)
    if (threadIdx.x == 0 && filling < TILES) fill(filling, stage);
  int stage = 0, parity = 0;
  for (int tile = blockIdx.x; tile < TILES; tile += BLOCKS, filling += BLOCKS) {
    asm volatile(
        "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra finished;\nbra again;\nfinished:\n}" ::"r"(
            uint32_t(__cvta_generic_to_shared(&full[stage]))),
        "r"(parity)
        : "memory");
    const float4* olds = tiles + stage * (TILE / 2);
    const float4* news = olds + TILE / 4;
#pragma unroll
    for (int i = threadIdx.x; i < TILE / 4; i += THREADS) {
      float4 a = olds[i], b = news[i];
      __stcs(&out[size_t(tile) * (TILE / 4) + i], make_float4(blended(a.x, b.x), blended(a.y, b.y), blended(a.z, b.z), blended(a.w, b.w)));
    }
    __syncthreads();  // everyone has read the stage
    if (threadIdx.x == 0 && filling < TILES) fill(filling, stage);
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
}

int main() {
  auto old_at = [](size_t i) { return float((i * 7919) % 1021) / 1021.f; };
  auto new_at = [](size_t i) { return float((i * 7907) % 1019) / 1019.f; };
  auto* old_frame = device_array<float>(COUNT, old_at);
  auto* new_frame = device_array<float>(COUNT, new_at);
  auto* out = device_zeros<float>(COUNT);
  constexpr int SHARED = STAGES * 2 * int(TILE_BYTES);
  CUDA_CHECK(cudaFuncSetAttribute(held_bulk_denoise, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED));
  launch_twice([&] { held_bulk_denoise<<<BLOCKS, THREADS, SHARED>>>(old_frame, new_frame, reinterpret_cast<float4*>(out)); });
  bool ok = true;
  for (size_t i : {size_t(0), size_t(12345678), COUNT - 1}) ok = ok && close_to(peek(out, i), blended(old_at(i % PATTERN), new_at(i % PATTERN)));
  return finish(ok);
}
