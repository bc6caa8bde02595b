// 811008 budget scenarios (0/1 knapsack, 48 projects, budget 23), one a thread, with the table of best values in a per-thread array whose index depends
// on a project's cost: local memory. Two local loads and a store for each of 930 table updates a thread: 192 warps an SM * 2800 requests
// = 0.54 M cycles of the L1 (280 us), twice what the arithmetic takes; global data are 6 MiB, and the tables (96 bytes * 2048) fit the L1.
#include "../evidence.cuh"

constexpr int SCENARIOS = 3168 * 256, THREADS = 256, PROJECTS = 48, BUDGET = 23;

__host__ __device__ inline int best_value(const int* cost, const int* gain, int scale, int projects) {
  int best[BUDGET + 1];
  for (int b = 0; b <= BUDGET; ++b) best[b] = 0;
  for (int p = 0; p < projects; ++p) {
    int price = cost[p], value = gain[p] * scale >> 8;
    for (int b = BUDGET; b >= price; --b) {
      int with = best[b - price] + value;
      best[b] = best[b] > with ? best[b] : with;
    }
  }
  return best[BUDGET];
}

__global__ void blind_knapsack(const int* __restrict__ cost, const int* __restrict__ gain, const int* __restrict__ scale, int* __restrict__ result,
                               int projects) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  result[i] = best_value(cost, gain, scale[i], projects);
}

int main() {
  std::vector<int> host_cost(PROJECTS), host_gain(PROJECTS);
  for (int p = 0; p < PROJECTS; ++p) host_cost[p] = p * 5 % 8 + 1, host_gain[p] = p * 37 % 101 + 20;
  auto scale_of = [](size_t i) { return int(200 + i * 31 % 307); };
  auto* cost = device_array<int>(PROJECTS, [&](size_t p) { return host_cost[p]; });
  auto* gain = device_array<int>(PROJECTS, [&](size_t p) { return host_gain[p]; });
  auto* scale = device_array<int>(SCENARIOS, scale_of);
  auto* result = device_zeros<int>(SCENARIOS);
  launch_twice([&] { blind_knapsack<<<SCENARIOS / THREADS, THREADS>>>(cost, gain, scale, result, PROJECTS); });
  bool ok = true;
  for (size_t i : {size_t(0), size_t(4321), size_t(SCENARIOS - 1)})
    ok = ok && peek(result, i) == best_value(host_cost.data(), host_gain.data(), scale_of(i), PROJECTS);
  return finish(ok);
}
