// The cure of wgmma_serialized: the same 16,384 products a warpgroup, 16 to a group over four accumulators, one group always in flight.
// The share of cycles with a busy tensor pipe must rise to near 100 %.
#include <cuda_bf16.h>

#include <cstdint>

#include "../evidence.cuh"

constexpr int ROWS = 64, COLUMNS = 256, SLICE = 64, SLICES = COLUMNS / SLICE;  // C of a block, in four accumulators of 64 x 64
constexpr int TILE_K = 64, TILES = 4, DEPTH = TILE_K * TILES;                  // K: 256, in tiles whose rows are 128 bytes
constexpr int TILE_BYTES = COLUMNS * TILE_K * 2, ATOM_BYTES = 1024;            // the period of the 128-byte swizzle
constexpr int PASSES = 256;                                                    // C is the sum of so many equal products

#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(d, i) FOUR(d, i), FOUR(d, i + 4), FOUR(d, i + 8), FOUR(d, i + 12)

// d (64 x 64) += a (64 x 16 in registers) @ b (64 columns by 16 of K in shared memory, K contiguous).
static __device__ __forceinline__ void multiply_add(float (&d)[32], const uint32_t (&a)[4], uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "{%32, %33, %34, %35}, %36, 1, 1, 1, 0;"
      : SIXTEEN(d, 0), SIXTEEN(d, 16)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// Shared-memory descriptor in 128-byte swizzle, K contiguous: groups of eight rows lie 1,024 bytes apart, the leading offset is unused.
static __device__ uint64_t descriptor(uint32_t address) {
  return uint64_t((address & 0x3FFFF) >> 4) | uint64_t(1) << 16 | uint64_t(ATOM_BYTES >> 4) << 32 | uint64_t(1) << 62;
}

static __device__ void open_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
static __device__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int PENDING>
static __device__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

__global__ __launch_bounds__(128, 1) void wgmma_pipelined(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                                                         float* __restrict__ c) {
  extern __shared__ char memory[];
  const uint32_t raw = static_cast<uint32_t>(__cvta_generic_to_shared(memory)), tiles = (raw + ATOM_BYTES - 1) / ATOM_BYTES * ATOM_BYTES;
  for (int i = threadIdx.x; i < COLUMNS * DEPTH / 8; i += 128) {  // 16 bytes each, at the place that the swizzle gives them
    const int n = i / (DEPTH / 8), chunk = i % (DEPTH / 8);
    char* place = memory + (tiles - raw) + chunk / 8 * TILE_BYTES + n * 128 + ((chunk % 8 ^ n % 8) << 4);
    *reinterpret_cast<uint4*>(place) = *reinterpret_cast<const uint4*>(b + size_t(n) * DEPTH + chunk * 8);
  }
  const int lane = threadIdx.x % 32, row = blockIdx.x * ROWS + threadIdx.x / 32 * 16 + lane / 4;
  uint32_t fragments[DEPTH / 16][4];
#pragma unroll
  for (int k = 0; k < DEPTH / 16; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      fragments[k][i] = *reinterpret_cast<const uint32_t*>(a + size_t(row + i % 2 * 8) * DEPTH + k * 16 + i / 2 * 8 + lane % 4 * 2);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // written by threads, read by the tensor cores
  __syncthreads();

  float sums[SLICES][SLICE / 2] = {};
#pragma unroll 1
  for (int pass = 0; pass < PASSES; ++pass)
#pragma unroll
    for (int tile = 0; tile < TILES; ++tile) {
      open_products();
#pragma unroll
      for (int k = 0; k < TILE_K / 16; ++k)
#pragma unroll
        for (int slice = 0; slice < SLICES; ++slice)
          multiply_add(sums[slice], fragments[tile * (TILE_K / 16) + k], descriptor(tiles + tile * TILE_BYTES + slice * SLICE * 128 + k * 32));
      commit_products();
      wait_products<1>();  // the group of the tile before is complete, this one runs on
    }
  wait_products<0>();
#pragma unroll
  for (int slice = 0; slice < SLICES; ++slice)
#pragma unroll
    for (int i = 0; i < SLICE / 2; i += 2) {
      float* out = c + size_t(row + i / 2 % 2 * 8) * COLUMNS + slice * SLICE + i / 4 * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(out) = make_float2(sums[slice][i], sums[slice][i + 1]);
    }
}

static float a_value(size_t i) { return float(i % 5) - 1.f; }
static float b_value(size_t i) { return float(i % 7) * 0.5f - 1.f; }

int main() {
  const int blocks = sm_count(), bytes = TILES * TILE_BYTES + ATOM_BYTES;
  auto* a = device_array<__nv_bfloat16>(size_t(blocks) * ROWS * DEPTH, [](size_t i) { return __float2bfloat16(a_value(i)); });
  auto* b = device_array<__nv_bfloat16>(size_t(COLUMNS) * DEPTH, [](size_t i) { return __float2bfloat16(b_value(i)); });
  auto* c = device_zeros<float>(size_t(blocks) * ROWS * COLUMNS);
  CUDA_CHECK(cudaFuncSetAttribute(wgmma_pipelined, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  launch_twice([&] { wgmma_pipelined<<<blocks, 128, bytes>>>(a, b, c); });
  bool correct = true;
  for (size_t row : {size_t(5), size_t(2) * ROWS + 43})
    for (size_t column : {size_t(19), size_t(250)}) {
      double expected = 0;
      for (size_t k = 0; k < DEPTH; ++k) expected += a_value((row * DEPTH + k) % PATTERN) * b_value(column * DEPTH + k);
      correct = correct && close_to(peek(c, row * COLUMNS + column), expected * PASSES);
    }
  return finish(correct);
}
