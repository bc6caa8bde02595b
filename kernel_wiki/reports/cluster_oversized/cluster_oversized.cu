// Clusters of up to 16 blocks, one block an SM (128 KiB of shared memory), where pairs would do. A cluster is placed only where all its
// blocks find an SM in one GPC: with 16 to 18 SMs in a GPC a cluster of 10 fits once, so that 80 of 132 SMs work. The program asks the
// driver and takes the size that leaves most SMs idle, since the sizes of GPCs differ from card to card.
#include <cooperative_groups.h>

#include "../evidence.cuh"

constexpr int THREADS = 1024, ROUNDS = 160, FMAS = 8;  // a thread and round: one 16-byte read and 4 * FMAS multiply-adds
constexpr int ENTRIES = 8192;                          // 128 KiB of float4: one block an SM
constexpr int WAVES = 11, MULTIPLE = 240;              // blocks: a multiple of every cluster size that is tried
constexpr float FACTOR = 0.75f;

static __host__ __device__ float table_value(int entry, int part) { return float((entry * 4 + part) % 61) * 0.125f; }

// One round of a thread's four sums.
static __host__ __device__ void advance(float (&sums)[4], const float (&v)[4]) {
  for (int i = 0; i < FMAS; ++i)
    for (int part = 0; part < 4; ++part) sums[part] = fmaf(sums[part], FACTOR, v[part]);
}

// Blocks of even and odd rank exchange their results in pairs through distributed shared memory.
__global__ __launch_bounds__(THREADS, 1) void cluster_oversized(float* __restrict__ out) {
  namespace cg = cooperative_groups;
  extern __shared__ float4 table[];
  __shared__ float results[THREADS];
  for (int i = threadIdx.x; i < ENTRIES; i += THREADS)
    table[i] = make_float4(table_value(i, 0), table_value(i, 1), table_value(i, 2), table_value(i, 3));
  __syncthreads();
  float sums[4] = {float(blockIdx.x % 16), 1.f, 2.f, 3.f};
  for (int round = 0; round < ROUNDS; ++round) {
    const float4 v = table[(threadIdx.x + round * THREADS) % ENTRIES];
    advance(sums, {v.x, v.y, v.z, v.w});
  }
  cg::cluster_group cluster = cg::this_cluster();
  results[threadIdx.x] = (sums[0] + sums[1]) + (sums[2] + sums[3]) + float(blockIdx.x % 16);
  cluster.sync();  // the partner's results are there
  const float other = cluster.map_shared_rank(results, cluster.block_rank() ^ 1)[threadIdx.x];
  out[size_t(blockIdx.x) * THREADS + threadIdx.x] = results[threadIdx.x] - 2 * other;
  cluster.sync();  // nobody leaves while it is read
}

static double expected_result(int block, int thread) {
  float sums[4] = {float(block % 16), 1.f, 2.f, 3.f};
  for (int round = 0; round < ROUNDS; ++round) {
    const int entry = (thread + round * THREADS) % ENTRIES;
    advance(sums, {table_value(entry, 0), table_value(entry, 1), table_value(entry, 2), table_value(entry, 3)});
  }
  return double(sums[0]) + sums[1] + sums[2] + sums[3] + block % 16;
}

// Of the sizes that can be launched, the one with the fewest blocks at a time.
static int worst_size(cudaLaunchConfig_t& config) {
  int worst = 0, fewest = 0;
  for (int size : {16, 12, 10, 8}) {
    int clusters = 0;
    config.attrs[0].val.clusterDim.x = size;
    if (cudaOccupancyMaxActiveClusters(&clusters, cluster_oversized, &config) != cudaSuccess) cudaGetLastError();
    if (clusters > 0 && (worst == 0 || clusters * size < fewest)) worst = size, fewest = clusters * size;
  }
  return worst;
}

int main() {
  const int blocks = sm_count() * WAVES / MULTIPLE * MULTIPLE, bytes = ENTRIES * 16;
  auto* out = device_zeros<float>(size_t(blocks) * THREADS);
  CUDA_CHECK(cudaFuncSetAttribute(cluster_oversized, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  CUDA_CHECK(cudaFuncSetAttribute(cluster_oversized, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {8, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks), config.blockDim = dim3(THREADS), config.dynamicSmemBytes = bytes;
  config.attrs = &cluster, config.numAttrs = 1;
  cluster.val.clusterDim.x = worst_size(config);
  if (cluster.val.clusterDim.x == 0) return finish(false);
  launch_twice([&] { CUDA_CHECK(cudaLaunchKernelEx(&config, cluster_oversized, out)); });
  const double expected = expected_result(37, 5) - 2 * expected_result(36, 5);
  return finish(close_to(peek(out, size_t(37) * THREADS + 5), expected));
}
