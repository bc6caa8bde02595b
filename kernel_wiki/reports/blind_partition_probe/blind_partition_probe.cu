// Second pass of a partitioned join: a block adds up the matching rows of its partition. Keys are skewed (Zipf 0.85): the largest of 792 partitions
// holds 8 % of 24 M rows, the median 0.05 %. One wave of blocks, in which most finish in 10 us and the chip then waits for a handful: the largest
// reads 16 MB through one SM at 20 to 80 GB/s (200 to 800 us), where evenly spread the 192 MB would take 45 us.
#include "../evidence.cuh"

constexpr int PARTITIONS = 792, THREADS = 256, CHUNK = THREADS * 4;
constexpr double SKEW = 0.85, ROWS = 24e6;

__host__ __device__ inline bool matches(unsigned key) { return (key * 2654435761u >> 28) > 4; }

__global__ __launch_bounds__(THREADS, 6) void blind_partition_probe(const uint4* __restrict__ keys, const uint4* __restrict__ amounts,
                                                                    const int* __restrict__ first_chunk, unsigned long long* __restrict__ totals) {
  int end = first_chunk[blockIdx.x + 1];
  unsigned long long sum = 0;
  for (int chunk = first_chunk[blockIdx.x]; chunk < end; ++chunk) {
    uint4 key = keys[size_t(chunk) * THREADS + threadIdx.x], amount = amounts[size_t(chunk) * THREADS + threadIdx.x];
    sum += matches(key.x) ? amount.x : 0;
    sum += matches(key.y) ? amount.y : 0;
    sum += matches(key.z) ? amount.z : 0;
    sum += matches(key.w) ? amount.w : 0;
  }
  __shared__ unsigned long long partial[THREADS / 32];
  for (int offset = 16; offset; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < THREADS / 32; ++warp) sum += partial[warp];
    totals[blockIdx.x] = sum;
  }
}

static unsigned key_of(size_t i) { return unsigned(i) * 40503u + 17u; }
static unsigned amount_of(size_t i) { return unsigned(i * 31 % 9973) + 1; }

int main() {
  double norm = 0;
  for (int rank = 1; rank <= PARTITIONS; ++rank) norm += std::pow(rank, -SKEW);
  std::vector<int> first(PARTITIONS + 1, 0);
  for (int p = 0; p < PARTITIONS; ++p)  // ranks in mixed order: 397 has no factor in common with 792
    first[p + 1] = first[p] + std::max(1, int(ROWS * std::pow(p * 397 % PARTITIONS + 1, -SKEW) / norm / CHUNK));
  size_t rows = size_t(first[PARTITIONS]) * CHUNK;
  auto* keys = device_array<unsigned>(rows, key_of);
  auto* amounts = device_array<unsigned>(rows, amount_of);
  auto* first_chunk = device_array<int>(PARTITIONS + 1, [&](size_t p) { return first[p]; });
  auto* totals = device_zeros<unsigned long long>(PARTITIONS);
  launch_twice([&] {
    blind_partition_probe<<<PARTITIONS, THREADS>>>(reinterpret_cast<uint4*>(keys), reinterpret_cast<uint4*>(amounts), first_chunk, totals);
  });
  bool ok = true;
  for (int p : {0, 1, 500, PARTITIONS - 1}) {  // partition 0 is the largest
    unsigned long long sum = 0;
    for (size_t i = size_t(first[p]) * CHUNK; i < size_t(first[p + 1]) * CHUNK; ++i) sum += matches(key_of(i % PATTERN)) ? amount_of(i % PATTERN) : 0;
    ok = ok && peek(totals, p) == sum;
  }
  return finish(ok);
}
