// The cure of pointer_chase: each warp follows eight lists at once, so that eight loads are under way where there was one. A launch
// visits eight times the nodes of a launch of its twin and takes far less than eight times as long.
#include "../evidence.cuh"

constexpr int THREADS = 256, STEPS = 48, LANES = 32, CHAINS = 8;
constexpr size_t NODES = size_t(1) << 21;  // 256 MiB

__global__ void __launch_bounds__(THREADS, 8) chase_interleaved(const int* __restrict__ offset, int* __restrict__ y) {
  const unsigned warps = gridDim.x * (THREADS / LANES);
  const unsigned warp = (blockIdx.x * THREADS + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
  unsigned at[CHAINS];
#pragma unroll
  for (int chain = 0; chain < CHAINS; ++chain) at[chain] = ((warp + chain * warps) * 2654435761u) % unsigned(NODES);
  for (int step = 0; step < STEPS; ++step) {
    int next[CHAINS];
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) next[chain] = offset[at[chain] * LANES + lane];
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) at[chain] = (at[chain] * 1664525u + unsigned(next[chain])) % unsigned(NODES);
  }
#pragma unroll
  for (int chain = 0; chain < CHAINS; ++chain) y[(warp + chain * warps) * LANES + lane] = int(at[chain]) + 1;
}

int main() {
  int blocks = sm_count() * 8;
  auto* offset = device_array<int>(NODES * LANES, [](size_t i) { return int((i / LANES * 22695477 + 1) % NODES); });
  auto* y = device_zeros<int>(size_t(blocks) * THREADS * CHAINS);
  auto launch = [&] { chase_interleaved<<<blocks, THREADS>>>(offset, y); };
  launch_twice(launch, launch, CHAINS);
  unsigned at = (135 * 2654435761u) % unsigned(NODES);
  for (int step = 0; step < STEPS; ++step) {
    const size_t node = at % (PATTERN / LANES);  // the table repeats
    at = (at * 1664525u + unsigned((node * 22695477 + 1) % NODES)) % unsigned(NODES);
  }
  return finish(peek(y, 135 * LANES + 1) == int(at) + 1);
}
