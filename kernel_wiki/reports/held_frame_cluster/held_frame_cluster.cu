// Smooths 8-bit 1080p frames vertically four times over, a frame held whole in the shared memory of a cluster: ten blocks with 108 rows or
// 202 KiB each, whose edge rows are read through distributed shared memory. A block fills an SM and a cluster must fit one GPC of 16 to 18 SMs,
// so each GPC runs one cluster: 80 of 132 SMs work, 40 % of the machine idles throughout. Five blocks with half a frame would fill it.
#include "../evidence.cuh"

#include <cstdint>

constexpr int WIDTH = 1920, HEIGHT = 1080, CLUSTER = 10, ROWS = HEIGHT / CLUSTER, STRIP = WIDTH * ROWS, FRAMES = 56, PASSES = 4;
constexpr int COLUMNS = WIDTH / 4, HALF = ROWS / 2, THREADS = 2 * COLUMNS, CHUNKS = 4, CHUNK = STRIP / CHUNKS;
static_assert(CHUNK % 16 == 0);

// Four pixels' means at once, rounded down.
__host__ __device__ static unsigned mean(unsigned a, unsigned b) { return (a & b) + (((a ^ b) >> 1) & 0x7f7f7f7fu); }

__device__ static void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ static unsigned neighbour_word(uint32_t address, int rank) {
  unsigned word;
  asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %1, %2;\nld.shared::cluster.u32 %0, [there];\n}"
               : "=r"(word)
               : "r"(address), "r"(rank)
               : "memory");
  return word;
}

__global__ __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS) void held_frame_cluster(const unsigned char* __restrict__ in,
                                                                                                   unsigned char* __restrict__ out) {
  extern __shared__ __align__(128) unsigned words[];  // [ROWS][COLUMNS]
  __shared__ __align__(8) uint64_t loaded;
  uint32_t strip = uint32_t(__cvta_generic_to_shared(words)), barrier = uint32_t(__cvta_generic_to_shared(&loaded));
  size_t origin = size_t(blockIdx.x) * STRIP;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.proxy.async.shared::cta;" ::"r"(barrier) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "n"(STRIP) : "memory");
    for (int chunk = 0; chunk < CHUNKS; ++chunk)
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(strip + chunk * CHUNK),
                   "l"(in + origin + chunk * CHUNK), "n"(CHUNK), "r"(barrier)
                   : "memory");
  }
  __syncthreads();
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n@done bra finished;\nbra again;\nfinished:\n}" ::"r"(barrier)
      : "memory");
  cluster_barrier();
  int rank = blockIdx.x % CLUSTER, column = threadIdx.x % COLUMNS, half = threadIdx.x / COLUMNS, first = half * HALF;
  for (int pass = 0; pass < PASSES; ++pass) {
    unsigned above, below;  // the rows beyond this thread's half, before anyone changes them; a frame's edge rows stand for their neighbours
    if (half == 1)
      above = words[(HALF - 1) * COLUMNS + column];
    else
      above = rank > 0 ? neighbour_word(strip + ((ROWS - 1) * COLUMNS + column) * 4, rank - 1) : words[column];
    if (half == 0)
      below = words[HALF * COLUMNS + column];
    else
      below = rank < CLUSTER - 1 ? neighbour_word(strip + column * 4, rank + 1) : words[(ROWS - 1) * COLUMNS + column];
    cluster_barrier();
    unsigned previous = above, current = words[first * COLUMNS + column];
#pragma unroll 9
    for (int row = 0; row < HALF; ++row) {
      unsigned next = row + 1 < HALF ? words[(first + row + 1) * COLUMNS + column] : below;
      words[(first + row) * COLUMNS + column] = mean(current, mean(previous, next));
      previous = current;
      current = next;
    }
    cluster_barrier();
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + origin), "r"(strip), "n"(STRIP) : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}

int main() {
  auto pixel_at = [](size_t i) { return (unsigned char)((i * 37 + (i >> 8) * 11) % 253); };
  auto* in = device_array<unsigned char>(size_t(FRAMES) * WIDTH * HEIGHT, pixel_at);
  auto* out = device_zeros<unsigned char>(size_t(FRAMES) * WIDTH * HEIGHT);
  CUDA_CHECK(cudaFuncSetAttribute(held_frame_cluster, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  CUDA_CHECK(cudaFuncSetAttribute(held_frame_cluster, cudaFuncAttributeMaxDynamicSharedMemorySize, STRIP));
  launch_twice([&] { held_frame_cluster<<<FRAMES * CLUSTER, THREADS, STRIP>>>(in, out); });
  bool ok = true;
  for (size_t column : {size_t(0), size_t(17) * WIDTH * HEIGHT + 1001, size_t(FRAMES - 1) * WIDTH * HEIGHT + WIDTH - 1}) {
    auto index = [=](int row) { return column + size_t(row) * WIDTH; };
    std::vector<unsigned> old(HEIGHT), now(HEIGHT);
    for (int row = 0; row < HEIGHT; ++row) now[row] = pixel_at(index(row) % PATTERN);
    for (int pass = 0; pass < PASSES; ++pass) {
      old = now;
      for (int row = 0; row < HEIGHT; ++row) now[row] = mean(old[row], mean(old[std::max(row - 1, 0)], old[std::min(row + 1, HEIGHT - 1)]));
    }
    for (int row : {0, 53, 54, 107, 108, 540, HEIGHT - 1}) ok = ok && peek(out, index(row)) == now[row];
  }
  return finish(ok);
}
