// A matrix of 16 MiB is summed 32 times through TMA in boxes of 4 x 8 floats, 128 bytes in rows of 16: 4.2 million boxes, 31,800 for an
// SM, each with eight row requests of half a sector. The TMA unit works by boxes and rows, not by bytes, and should be full while
// DRAM is idle and the adders wait; the L2 comes second.
#include <cuda.h>
#include <cudaTypedefs.h>

#include <cstdint>

#include "../evidence.cuh"

constexpr int SIDE = 2048;                    // a matrix of 16 MiB, which the L2 keeps
constexpr int PASSES = 32;                    // 512 MiB through the TMA units
constexpr int BOX_COLUMNS = 4, BOX_ROWS = 8;  // 128 bytes in rows of 16: 32 boxes a region, two requests for each sector
constexpr int REGION = 32, REGION_BYTES = REGION * REGION * 4;  // what a warp waits for at a time
constexpr int WARPS = 8, BLOCKS_PER_SM = 2, STAGES = 3;
constexpr int REGIONS = (SIDE / REGION) * (SIDE / REGION) * PASSES;

static __device__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

static __device__ void wait_for_phase(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  do {
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  } while (!done);
}

// One lane asks for a region, box by box; the bytes of all boxes are counted on one barrier.
static __device__ void load_region(uint32_t buffer, const CUtensorMap& map, int region, uint32_t barrier) {
  const int tile = region % ((SIDE / REGION) * (SIDE / REGION));
  const int column = tile % (SIDE / REGION) * REGION, row = tile / (SIDE / REGION) * REGION;
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "n"(REGION_BYTES) : "memory");
#pragma unroll 4
  for (int box = 0; box < REGION * REGION / (BOX_COLUMNS * BOX_ROWS); ++box) {
    const int x = column + box % (REGION / BOX_COLUMNS) * BOX_COLUMNS, y = row + box / (REGION / BOX_COLUMNS) * BOX_ROWS;
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            buffer + box * BOX_COLUMNS * BOX_ROWS * 4),
        "l"(&map), "r"(x), "r"(y), "r"(barrier)
        : "memory");
  }
}

// Each warp has a ring of its own and adds up every region that it is given.
__global__ __launch_bounds__(WARPS * 32, BLOCKS_PER_SM) void tma_small_boxes(const __grid_constant__ CUtensorMap map,
                                                                         float* __restrict__ sums) {
  extern __shared__ __align__(128) char memory[];
  __shared__ __align__(8) uint64_t barriers[WARPS][STAGES];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first = blockIdx.x * WARPS + warp, step = gridDim.x * WARPS;
  char* ring = memory + warp * STAGES * REGION_BYTES;
  const uint32_t full = shared_address(barriers[warp]);
  if (lane == 0) {
    for (int stage = 0; stage < STAGES; ++stage)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full + stage * 8) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    for (int stage = 0; stage < STAGES; ++stage)
      if (first + stage * step < REGIONS)
        load_region(shared_address(ring) + stage * REGION_BYTES, map, first + stage * step, full + stage * 8);
  }
  __syncwarp();
  float sum = 0;
  int stage = 0;
  uint32_t parity = 0;
  for (int region = first; region < REGIONS; region += step) {
    wait_for_phase(full + stage * 8, parity);
    const float4* values = reinterpret_cast<const float4*>(ring + stage * REGION_BYTES);
#pragma unroll
    for (int i = 0; i < REGION_BYTES / 16; i += 32) {
      const float4 v = values[i + lane];
      sum += (v.x + v.y) + (v.z + v.w);
    }
    __syncwarp();  // every lane has read the buffer before it is filled again
    if (lane == 0 && region + STAGES * step < REGIONS)
      load_region(shared_address(ring) + stage * REGION_BYTES, map, region + STAGES * step, full + stage * 8);
    if (++stage == STAGES) stage = 0, parity ^= 1;
  }
  for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
  if (lane == 0) sums[first] = sum;
}

// The descriptor of a SIDE x SIDE float matrix, by the driver's encoder, which is looked up so that nothing links to libcuda.
static CUtensorMap describe(float* matrix) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found));
  const cuuint64_t size[] = {SIDE, SIDE}, pitch[] = {SIDE * sizeof(float)};
  const cuuint32_t box[] = {BOX_COLUMNS, BOX_ROWS}, steps[] = {1, 1};
  CUtensorMap map;
  const CUresult status = reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(entry)(
      &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, matrix, size, pitch, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  CUDA_CHECK(status == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue);
  return map;
}

static float value(size_t i) { return float(i % 97) * 0.25f + 1.f; }

int main() {
  constexpr size_t COUNT = size_t(SIDE) * SIDE;
  const int blocks = sm_count() * BLOCKS_PER_SM, ring_bytes = WARPS * STAGES * REGION_BYTES;
  auto* matrix = device_array<float>(COUNT, value);
  auto* sums = device_zeros<float>(size_t(blocks) * WARPS);
  const CUtensorMap map = describe(matrix);
  CUDA_CHECK(cudaFuncSetAttribute(tma_small_boxes, cudaFuncAttributeMaxDynamicSharedMemorySize, ring_bytes));
  launch_twice([&] { tma_small_boxes<<<blocks, WARPS * 32, ring_bytes>>>(map, sums); });
  std::vector<float> host(size_t(blocks) * WARPS);
  CUDA_CHECK(cudaMemcpy(host.data(), sums, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
  double got = 0, expected = 0;
  for (float part : host) got += part;
  for (size_t i = 0; i < PATTERN; ++i) expected += value(i);
  return finish(close_to(got, expected * double(COUNT / PATTERN) * PASSES, 1e-4));
}
