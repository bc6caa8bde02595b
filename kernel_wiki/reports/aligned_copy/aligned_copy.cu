// The cure of misaligned_copy: the header is padded to 128 bytes, so that each record is one line of 4 sectors. Sectors per request
// go from 5 to 4 for loads and stores, and L2 sees one request a record each way where it saw two.
#include "../evidence.cuh"

constexpr unsigned LANES = 32, RECORDS = 1u << 21, MOVED = 1u << 19;  // records of 32 floats: 256 MiB to choose from, 64 MiB moved
constexpr int THREADS = 256, PER_WARP = 4;
constexpr size_t HEADER = 32;  // floats in front of the first record: 128 bytes, a whole line

// One record of RECORDS or MOVED for each i below it, none twice: odd factors and shifts can be undone.
static __host__ __device__ unsigned shuffled(unsigned i, unsigned count, unsigned factor) {
  i = (i * factor) % count;
  i ^= i >> 10;
  i = (i * 2246822519u) % count;
  return i ^ (i >> 9);
}

__global__ void aligned_copy(const float* __restrict__ source, float* __restrict__ target) {
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
  launch_twice([&] { aligned_copy<<<MOVED / (THREADS / LANES * PER_WARP), THREADS>>>(source, target); });
  bool ok = true;
  for (unsigned i : {0u, 4321u, MOVED - 1}) {
    const size_t from = size_t(shuffled(i, RECORDS, 2654435761u)) * LANES + 7, to = size_t(shuffled(i, MOVED, 3266489917u)) * LANES + 7;
    ok &= peek(target, HEADER + to) == float(from % PATTERN) + 1.f;
  }
  return finish(ok);
}
