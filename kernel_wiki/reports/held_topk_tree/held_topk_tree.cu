// The 16 best of 1024 product-key scores a row, each found by a tree over shared memory with a barrier a level: 12 barriers of 32 warps for a
// key, 192 a row of 4 KB, and from the third level on 24 warps and more only arrive and wait (about 80 cycles a level). 8192 rows: 34 MB would
// take 8 us, this some 0.3 ms; the shared-memory path is busy a fifth to a third of it.
#include "../evidence.cuh"

constexpr int ROWS = 8192, KEYS = 1024, BEST = 16;

__global__ __launch_bounds__(KEYS) void held_topk_tree(const float* __restrict__ score, float* __restrict__ best, int* __restrict__ index) {
  __shared__ float values[KEYS];
  __shared__ int owners[KEYS];
  int t = threadIdx.x;
  float mine = score[size_t(blockIdx.x) * KEYS + t];
  for (int rank = 0; rank < BEST; ++rank) {
    values[t] = mine;
    owners[t] = t;
    __syncthreads();
    for (int s = KEYS / 2; s; s /= 2) {
      if (t < s && values[t + s] > values[t]) {
        values[t] = values[t + s];
        owners[t] = owners[t + s];
      }
      __syncthreads();
    }
    if (t == owners[0]) {
      best[blockIdx.x * BEST + rank] = mine;
      index[blockIdx.x * BEST + rank] = t;
      mine = -INFINITY;
    }
    __syncthreads();
  }
}

int main() {
  auto value = [](size_t i) { return float(i * 7919 % 100003) / 1000.f - 50.f; };
  auto* score = device_array<float>(size_t(ROWS) * KEYS, value);
  auto* best = device_zeros<float>(size_t(ROWS) * BEST);
  auto* index = device_zeros<int>(size_t(ROWS) * BEST);
  launch_twice([&] { held_topk_tree<<<ROWS, KEYS>>>(score, best, index); });
  bool ok = true;
  for (size_t row : {0, 777, 5000, 8191}) {
    std::vector<float> sorted(KEYS);
    for (size_t j = 0; j < KEYS; ++j) sorted[j] = value((row * KEYS + j) % PATTERN);
    std::sort(sorted.rbegin(), sorted.rend());
    for (size_t rank : {0, 1, 9, 15}) {
      size_t found = peek(index, row * BEST + rank);
      ok = ok && peek(best, row * BEST + rank) == sorted[rank];
      ok = ok && found < KEYS && value((row * KEYS + found) % PATTERN) == sorted[rank];
    }
  }
  return finish(ok);
}
