// Top-2 routing to 8 experts: every (token, choice) draws its slot from its expert's counter by a global atomic. 2.1 M atomics meet 8 words of
// one L2 sector, which takes about one a cycle where they collide: 0.1 to 1 ms, against 4 us for the 17 MB of ids and slots.
#include "../evidence.cuh"

constexpr int CHOICES = 1 << 21, EXPERTS = 8, THREADS = 256;

__global__ void held_moe_dispatch(const int* __restrict__ expert, int* __restrict__ counts, int* __restrict__ slot) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  slot[i] = atomicAdd(&counts[expert[i]], 1);
}

int main() {
  auto chosen = [](size_t i) { return int((i * 2654435761u >> 13) % 11 % EXPERTS); };  // experts 0 to 2 are twice as popular
  auto* expert = device_array<int>(CHOICES, chosen);
  auto* counts = device_zeros<int>(EXPERTS);
  auto* slot = device_zeros<int>(CHOICES);
  launch_twice([&] { held_moe_dispatch<<<CHOICES / THREADS, THREADS>>>(expert, counts, slot); });
  int expected[EXPERTS] = {};
  for (size_t i = 0; i < CHOICES; ++i) ++expected[chosen(i % PATTERN)];
  bool ok = true;  // the counters run on: the second launch hands out the second share of slots
  for (int e = 0; e < EXPERTS; ++e) ok = ok && peek(counts, e) == 2 * expected[e];
  for (size_t i : {0, 12345, 2000000}) {
    int share = expected[chosen(i % PATTERN)], drawn = peek(slot, i);
    ok = ok && drawn >= share && drawn < 2 * share;
  }
  return finish(ok);
}
