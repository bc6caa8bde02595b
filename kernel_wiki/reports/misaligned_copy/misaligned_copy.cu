// Records of 128 bytes go from shuffled places to shuffled places, behind a header of 16 bytes: each warp's access is contiguous and
// touches 5 sectors in 2 lines where 4 in 1 would do. Few neighbours use the fifth before it leaves the L2, and few half-written sectors
// meet their other half there, so that most of the waste reaches DRAM: up to 10 sectors a record and fills on top, against 8.
#include "../evidence.cuh"

constexpr unsigned LANES = 32, RECORDS = 1u << 21, MOVED = 1u << 19;  // records of 32 floats: 256 MiB to choose from, 64 MiB moved
constexpr int THREADS = 256, PER_WARP = 4;
constexpr size_t HEADER = 4;  // floats in front of the first record: 16 bytes, half a sector

// One record of RECORDS or MOVED for each i below it, none twice: odd factors and shifts can be undone.
static __host__ __device__ unsigned shuffled(unsigned i, unsigned count, unsigned factor) {
  i = (i * factor) % count;
  i ^= i >> 10;
  i = (i * 2246822519u) % count;
  return i ^ (i >> 9);
}

__global__ void misaligned_copy(const float* __restrict__ source, float* __restrict__ target) {
  const unsigned warp = blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES, lane = threadIdx.x % LANES;
  float held[PER_WARP];
#pragma unroll
  for (int j = 0; j < PER_WARP; ++j)
    held[j] = source[HEADER + size_t(shuffled(warp * PER_WARP + j, RECORDS, 2654435761u)) * LANES + lane];
#pragma unroll
  for (int j = 0; j < PER_WARP; ++j) target[HEADER + size_t(shuffled(warp * PER_WARP + j, MOVED, 3266489917u)) * LANES + lane] = held[j];
}

int main() {
  auto* source = device_array<float>(HEADER + size_t(RECORDS) * LANES,
                                     [](size_t i) { return float((i + PATTERN - HEADER) % PATTERN) + 1.f; });
  auto* target = device_zeros<float>(HEADER + size_t(MOVED) * LANES);
  launch_twice([&] { misaligned_copy<<<MOVED / (THREADS / LANES * PER_WARP), THREADS>>>(source, target); });
  bool ok = true;
  for (unsigned i : {0u, 4321u, MOVED - 1}) {
    const size_t from = size_t(shuffled(i, RECORDS, 2654435761u)) * LANES + 7, to = size_t(shuffled(i, MOVED, 3266489917u)) * LANES + 7;
    ok &= peek(target, HEADER + to) == float(from % PATTERN) + 1.f;
  }
  return finish(ok);
}
