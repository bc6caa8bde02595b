// The cure of tensor_gemm_mma: the same product by wgmma. Operands go from shared memory into the tensor pipe without fragment registers or
// ldmatrix, one warp fills a ring by TMA, and two warpgroups keep a group of products in flight each: latency is hidden by what is in
// flight, not by the number of warps. The share of cycles with a busy tensor pipe must rise from 48 % to above 80 %, at even fewer warps.
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_bf16.h>

#include <cstdint>

#include "../evidence.cuh"

constexpr int N = 4096, TILE_M = 128, TILE_N = 256, DEPTH = 64, STAGES = 4, BOX_N = 64;  // BOX_N: 128 bytes, the width of the swizzle
constexpr int WARPGROUP = 128, CONSUMERS = 2, THREADS = WARPGROUP * (1 + CONSUMERS), GROUP = 8;
constexpr int A_BYTES = TILE_M * DEPTH * 2, B_BOX_BYTES = DEPTH * BOX_N * 2, STAGE_BYTES = A_BYTES + TILE_N / BOX_N * B_BOX_BYTES;
constexpr int ATOM_BYTES = 1024;                                  // the period of the swizzle
constexpr int PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240;  // of 168 at launch: 24 + 2 * 240 = 3 * 168
constexpr int TILES = (N / TILE_M) * (N / TILE_N), STEPS = N / DEPTH;

static __device__ __forceinline__ void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Returns once the phase of the given parity is complete. A fresh barrier counts as having completed a phase of parity 1.
static __device__ __forceinline__ void wait(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  do {
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  } while (!done);
}

static __device__ __forceinline__ void load_box(uint32_t destination, const CUtensorMap& map, int column, int row, uint32_t barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                   destination),
               "l"(&map), "r"(column), "r"(row), "r"(barrier)
               : "memory");
}

// Shared-memory descriptor in 128-byte swizzle (1 in bits 62 and 63); all fields in 16 bytes.
static __device__ __forceinline__ uint64_t descriptor(uint32_t address, int leading_bytes, int stride_bytes) {
  return uint64_t((address & 0x3FFFF) >> 4) | uint64_t(leading_bytes >> 4) << 16 | uint64_t(stride_bytes >> 4) << 32 | uint64_t(1) << 62;
}

#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(d, i) FOUR(d, i), FOUR(d, i + 4), FOUR(d, i + 8), FOUR(d, i + 12)
#define SIXTY_FOUR(d, i) SIXTEEN(d, i), SIXTEEN(d, i + 16), SIXTEEN(d, i + 32), SIXTEEN(d, i + 48)

// d (64 x 256) = a (64 x 16, K contiguous) @ b (16 x 256, N contiguous: the last 1 says so), plus d where `accumulate` says so.
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
      "%128, %129, p, 1, 1, 0, 1;}"
      : SIXTY_FOUR(d, 0), SIXTY_FOUR(d, 64)
      : "l"(a), "l"(b), "r"(accumulate));
}

// Eight tile rows down before one tile column right, so that resident blocks share operands in the L2.
static __device__ __forceinline__ void locate(int tile, int& row, int& column) {
  const int group = tile / (GROUP * (N / TILE_N)), within = tile % (GROUP * (N / TILE_N));
  row = (group * GROUP + within % GROUP) * TILE_M;
  column = within / GROUP * TILE_N;
}

struct Position {
  int stage = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == STAGES) stage = 0, parity ^= 1;
  }
};

static __device__ __forceinline__ void produce(const CUtensorMap& a_map, const CUtensorMap& b_map, uint32_t ring, uint32_t full,
                                               uint32_t empty) {
  Position position;
  for (int tile = blockIdx.x; tile < TILES; tile += gridDim.x) {
    int row, column;
    locate(tile, row, column);
    for (int step = 0; step < STEPS; ++step, position.advance()) {
      const uint32_t stage = ring + position.stage * STAGE_BYTES, arrived = full + position.stage * 8;
      wait(empty + position.stage * 8, position.parity ^ 1);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrived), "n"(STAGE_BYTES) : "memory");
      load_box(stage, a_map, step * DEPTH, row, arrived);
#pragma unroll
      for (int i = 0; i < TILE_N / BOX_N; ++i)
        load_box(stage + A_BYTES + i * B_BOX_BYTES, b_map, column + i * BOX_N, step * DEPTH, arrived);
    }
  }
}

static __device__ __forceinline__ void consume(float* c, uint32_t ring, uint32_t full, uint32_t empty) {
  const int part = threadIdx.x / WARPGROUP - 1, lane = threadIdx.x % 32, warp = threadIdx.x % WARPGROUP / 32;
  Position position;
  for (int tile = blockIdx.x; tile < TILES; tile += gridDim.x) {
    float d[128];
    int released = position.stage;  // the stage whose products may still run
    for (int step = 0; step < STEPS; ++step, position.advance()) {
      const uint32_t stage = ring + position.stage * STAGE_BYTES;
      wait(full + position.stage * 8, position.parity);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int slice = 0; slice < DEPTH / 16; ++slice) {
        const uint64_t a = descriptor(stage + part * 64 * DEPTH * 2 + slice * 32, 16, ATOM_BYTES);
        const uint64_t b = descriptor(stage + A_BYTES + slice * 2 * ATOM_BYTES, B_BOX_BYTES, ATOM_BYTES);
        multiply_add(d, a, b, step > 0 || slice > 0);
      }
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
      if (step > 0 && lane == 0) arrive(empty + released * 8);
      released = position.stage;
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (lane == 0) arrive(empty + released * 8);
    int row, column;
    locate(tile, row, column);
    float* corner = c + size_t(row + part * 64 + warp * 16 + lane / 4) * N + column + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 128; i += 2)
      *reinterpret_cast<float2*>(corner + size_t(i / 2 % 2 * 8) * N + i / 4 * 8) = make_float2(d[i], d[i + 1]);
  }
}

__global__ __launch_bounds__(THREADS, 1) void tensor_occupied(const __grid_constant__ CUtensorMap a_map,
                                                              const __grid_constant__ CUtensorMap b_map, float* __restrict__ c) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ __align__(8) uint64_t barriers[2 * STAGES];
  const uint32_t ring = (static_cast<uint32_t>(__cvta_generic_to_shared(memory)) + ATOM_BYTES - 1) / ATOM_BYTES * ATOM_BYTES;
  const uint32_t full = static_cast<uint32_t>(__cvta_generic_to_shared(barriers)), empty = full + STAGES * 8;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full + stage * 8) : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(empty + stage * 8), "n"(CONSUMERS * 4) : "memory");  // every warp
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x < WARPGROUP) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
    if (threadIdx.x == 0) produce(a_map, b_map, ring, full, empty);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMER_REGISTERS));
    consume(c, ring, full, empty);
  }
}

// The descriptor of an N x N bf16 matrix, by the driver's encoder, which is looked up so that nothing links to libcuda.
static CUtensorMap describe(__nv_bfloat16* matrix, cuuint32_t box_rows, cuuint32_t box_columns) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found));
  const cuuint64_t size[] = {N, N}, pitch[] = {N * sizeof(__nv_bfloat16)};
  const cuuint32_t box[] = {box_columns, box_rows}, steps[] = {1, 1};
  CUtensorMap map;
  const CUresult status = reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(entry)(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, matrix, size, pitch, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  CUDA_CHECK(status == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue);
  return map;
}

int main() {
  constexpr int BYTES = STAGES * STAGE_BYTES + ATOM_BYTES;
  auto* a = device_array<__nv_bfloat16>(size_t(N) * N, [](size_t i) { return __float2bfloat16(float(i % 13) * 0.125f + 0.25f); });
  auto* b = device_array<__nv_bfloat16>(size_t(N) * N, [](size_t i) { return __float2bfloat16(float(i % 11) * 0.125f - 0.5f); });
  auto* c = device_zeros<float>(size_t(N) * N);
  const CUtensorMap a_map = describe(a, TILE_M, DEPTH), b_map = describe(b, DEPTH, BOX_N);
  CUDA_CHECK(cudaFuncSetAttribute(tensor_occupied, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES));
  launch_twice([&] { tensor_occupied<<<std::min(sm_count(), TILES), THREADS, BYTES>>>(a_map, b_map, c); });
  double expected = 0;
  for (int k = 0; k < N; ++k)
    expected += double(__bfloat162float(peek(a, size_t(37) * N + k))) * __bfloat162float(peek(b, size_t(k) * N + 1029));
  return finish(close_to(peek(c, size_t(37) * N + 1029), expected));
}
