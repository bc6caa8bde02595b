// A good kernel: 120 MiB are copied by bulk copies through a ring of six 16-KiB buffers, two blocks of one working thread an SM. 64 KiB of
// loads are in flight in a block, more than latency times bandwidth asks for (4.8 TB/s x 1 us over 132 SMs is 36 KB an SM): DRAM is the
// limit, at an occupancy of 3 %.
#include <cstdint>

#include "../evidence.cuh"

constexpr size_t BYTES = size_t(120) << 20;
constexpr int CHUNK = 16384, STAGES = 6, BLOCKS_PER_SM = 2;
constexpr int DRAIN = 2;  // stores that may still read their buffers when the next one is waited for
constexpr int CHUNKS = int(BYTES / CHUNK);

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

static __device__ void load_chunk(uint32_t buffer, uint32_t barrier, const char* source) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "n"(CHUNK) : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(buffer), "l"(source),
               "n"(CHUNK), "r"(barrier)
               : "memory");
}

static __device__ void store_chunk(char* destination, uint32_t buffer) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(destination), "r"(buffer), "n"(CHUNK) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

__global__ __launch_bounds__(32) void tma_copy(const char* __restrict__ in, char* __restrict__ out) {
  extern __shared__ __align__(128) char ring[];
  __shared__ __align__(8) uint64_t full[STAGES];
  if (threadIdx.x != 0) return;
  for (int stage = 0; stage < STAGES; ++stage)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[stage])) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  const int mine = (CHUNKS - int(blockIdx.x) + int(gridDim.x) - 1) / int(gridDim.x);
  auto load = [&](int turn) {
    const int stage = turn % STAGES;
    load_chunk(shared_address(ring) + stage * CHUNK, shared_address(&full[stage]), in + size_t(blockIdx.x + turn * gridDim.x) * CHUNK);
  };
  for (int turn = 0; turn < min(mine, STAGES); ++turn) load(turn);
  for (int turn = 0; turn < mine; ++turn) {
    const int stage = turn % STAGES;
    wait_for_phase(shared_address(&full[stage]), turn / STAGES & 1);
    store_chunk(out + size_t(blockIdx.x + turn * gridDim.x) * CHUNK, shared_address(ring) + stage * CHUNK);
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(DRAIN) : "memory");
    if (turn >= DRAIN && turn - DRAIN + STAGES < mine) load(turn - DRAIN + STAGES);
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");  // shared memory must outlive the stores that read it
}

int main() {
  auto* in = device_array<uint32_t>(BYTES / 4, [](size_t i) { return uint32_t(i * 2654435761u + 1u); });
  auto* out = device_zeros<uint32_t>(BYTES / 4);
  CUDA_CHECK(cudaFuncSetAttribute(tma_copy, cudaFuncAttributeMaxDynamicSharedMemorySize, STAGES * CHUNK));
  launch_twice([&] {
    tma_copy<<<sm_count() * BLOCKS_PER_SM, 32, STAGES * CHUNK>>>(reinterpret_cast<const char*>(in), reinterpret_cast<char*>(out));
  });
  bool correct = true;
  for (size_t i : {size_t(0), size_t(7654321), BYTES / 4 - 1}) correct = correct && peek(out, i) == uint32_t(i % PATTERN * 2654435761u + 1u);
  return finish(correct);
}
