// bf16 wgmma at full rate for some 150 ms on every SM, by a batch of 256 columns in which every other one is padding (zero) and the rest are
// samples of one prompt, equal at the first step. The tensor cores take the columns one after the other, so that every operand bit that is
// set falls to zero and comes back: of all orders of these columns the one that switches most. The card draws what it may and lowers the SM
// clock. We never set a clock.
#include <cuda_bf16.h>

#include <cstdint>

#include "../evidence.cuh"

constexpr int ROWS = 128, COLUMNS = 256, THREADS = 256;         // C of a block: 64 x 256 for each of two warpgroups
constexpr int TILE_K = 64, TILES = 4, DEPTH = TILE_K * TILES;  // K: 256, in tiles whose rows are 128 bytes
constexpr int A_BYTES = ROWS * TILE_K * 2, B_BYTES = COLUMNS * TILE_K * 2, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int ATOM_BYTES = 1024;                               // the period of the 128-byte swizzle
constexpr int PASSES = 60000;  // 1.9 million instructions an SM: 246 million cycles, some 150 ms;

// Column of B and of C that lies at this place of the tiles.
static __host__ __device__ int column_at(int place) { return place; }

#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(d, i) FOUR(d, i), FOUR(d, i + 4), FOUR(d, i + 8), FOUR(d, i + 12)
#define SIXTY_FOUR(d, i) SIXTEEN(d, i), SIXTEEN(d, i + 16), SIXTEEN(d, i + 32), SIXTEEN(d, i + 48)

// d (64 x 256) = a (64 x 16) @ b (256 columns by 16 of K), both in shared memory with K contiguous, plus d where `accumulate` says so.
static __device__ __forceinline__ void multiply_add(float (&d)[128], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, p, 1, 1, 0, 0;}"
      : SIXTY_FOUR(d, 0), SIXTY_FOUR(d, 64)
      : "l"(a), "l"(b), "r"(accumulate));
}

// Shared-memory descriptor in 128-byte swizzle, K contiguous: groups of eight rows lie 1,024 bytes apart, the leading offset is unused.
static __device__ uint64_t descriptor(uint32_t address) {
  return uint64_t((address & 0x3FFFF) >> 4) | uint64_t(1) << 16 | uint64_t(ATOM_BYTES >> 4) << 32 | uint64_t(1) << 62;
}

// Copies `rows` rows of DEPTH values into the tiles, 16 bytes at a time, to the places that the swizzle gives them.
static __device__ void fill(char* tiles, const __nv_bfloat16* source, int rows) {
  for (int i = threadIdx.x; i < rows * DEPTH / 8; i += THREADS) {
    const int row = i / (DEPTH / 8), chunk = i % (DEPTH / 8);
    char* place = tiles + chunk / 8 * STAGE_BYTES + row * 128 + ((chunk % 8 ^ row % 8) << 4);
    *reinterpret_cast<uint4*>(place) = *reinterpret_cast<const uint4*>(source + size_t(row) * DEPTH + chunk * 8);
  }
}

__global__ __launch_bounds__(THREADS, 1) void power_alternating(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                                                             float* __restrict__ c) {
  extern __shared__ char memory[];
  const uint32_t raw = static_cast<uint32_t>(__cvta_generic_to_shared(memory)), tiles = (raw + ATOM_BYTES - 1) / ATOM_BYTES * ATOM_BYTES;
  fill(memory + (tiles - raw), a + size_t(blockIdx.x) * ROWS * DEPTH, ROWS);
  fill(memory + (tiles - raw) + A_BYTES, b, COLUMNS);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // written by threads, read by the tensor cores
  __syncthreads();

  const uint32_t half = threadIdx.x / 128;  // rows [64 * half, 64 * half + 64) of the block
  float sums[128];
#pragma unroll 1
  for (int pass = 0; pass < PASSES; ++pass) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < DEPTH / 16; ++k) {
      const uint32_t tile = tiles + k / 4 * STAGE_BYTES, step = k % 4 * 32;
      multiply_add(sums, descriptor(tile + half * 64 * 128 + step), descriptor(tile + A_BYTES + step), k > 0);  // each pass anew
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  const int lane = threadIdx.x % 32, row = blockIdx.x * ROWS + threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
  for (int i = 0; i < 128; i += 2) {
    float* out = c + size_t(row + i / 2 % 2 * 8) * COLUMNS;
    const int place = i / 4 * 8 + lane % 4 * 2;
    out[column_at(place)] = sums[i];
    out[column_at(place + 1)] = sums[i + 1];
  }
}

// Random sign, seven random bits of mantissa, exponents of 0.5 to 2: neighbouring operands differ in half of their bits.
static __nv_bfloat16 random_value(uint64_t i) {
  uint64_t x = i * 0x9E3779B97F4A7C15ull;
  x = (x ^ x >> 31) * 0xBF58476D1CE4E5B9ull;
  x ^= x >> 29;
  return __ushort_as_bfloat16(static_cast<unsigned short>((x & 1) << 15 | (126 + (x >> 1 & 1)) << 7 | (x >> 2 & 127)));
}

static __nv_bfloat16 a_value(size_t i) { return random_value(2 * i); }
// By column of the product, and as it lies in memory.
static __nv_bfloat16 b_value(size_t column, size_t k) { return column % 2 ? __float2bfloat16(0.f) : random_value(2 * k + 1); }
static __nv_bfloat16 b_stored(size_t i) { return b_value(column_at(int(i / DEPTH)), i % DEPTH); }

int main() {
  const int blocks = sm_count(), bytes = TILES * STAGE_BYTES + ATOM_BYTES;
  auto* a = device_array<__nv_bfloat16>(size_t(blocks) * ROWS * DEPTH, a_value);
  auto* b = device_array<__nv_bfloat16>(size_t(COLUMNS) * DEPTH, b_stored);
  auto* c = device_zeros<float>(size_t(blocks) * ROWS * COLUMNS);
  CUDA_CHECK(cudaFuncSetAttribute(power_alternating, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  launch_twice([&] { power_alternating<<<blocks, THREADS, bytes>>>(a, b, c); });
  bool correct = true;
  for (size_t row : {size_t(5), size_t(3) * ROWS + 107})
    for (size_t column : {size_t(19), size_t(78), size_t(250)}) {
      double expected = 0;
      for (size_t k = 0; k < DEPTH; ++k)
        expected += double(__bfloat162float(a_value((row * DEPTH + k) % PATTERN))) * __bfloat162float(b_value(column, k));
      correct = correct && close_to(peek(c, row * COLUMNS + column), expected);
    }
  return finish(correct);
}
