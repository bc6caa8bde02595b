// Scores of 64 queries against the 128 keys of an attention window; a thread owns a key and reads its row from an unpadded tile of 64 words
// a row, so all lanes meet one bank. Two words of the key are 32 wavefronts (2 without conflicts), two of eight queries 4, their 16 FMAs 4 cycles:
// conflicts are over 80 % of the shared-memory wavefronts and the kernel takes about as many cycles as there are wavefronts (0.15 ms).
#include "../evidence.cuh"

constexpr int WINDOWS = 1056, KEYS = 128, QUERIES = 64, DIM = 64, GROUP = 8;

__global__ __launch_bounds__(KEYS) void held_window_scores(const float* __restrict__ query, const float* __restrict__ key,
                                                           float* __restrict__ score) {
  __shared__ float key_tile[KEYS][DIM];
  __shared__ __align__(16) float query_tile[QUERIES / GROUP][DIM][GROUP];
  query += size_t(blockIdx.x) * QUERIES * DIM;
  key += size_t(blockIdx.x) * KEYS * DIM;
  score += size_t(blockIdx.x) * QUERIES * KEYS;
#pragma unroll 8
  for (int step = 0; step < DIM; ++step) {
    int i = step * KEYS + threadIdx.x;
    key_tile[i / DIM][i % DIM] = key[i];
  }
#pragma unroll 8
  for (int step = 0; step < QUERIES * DIM / KEYS; ++step) {
    int i = step * KEYS + threadIdx.x, row = i / DIM;
    query_tile[row / GROUP][i % DIM][row % GROUP] = query[i];
  }
  __syncthreads();
#pragma unroll 1
  for (int group = 0; group < QUERIES / GROUP; ++group) {
    float sum[GROUP] = {};
#pragma unroll 4
    for (int d = 0; d < DIM; ++d) {
      float k = key_tile[threadIdx.x][d];
#pragma unroll
      for (int q = 0; q < GROUP; ++q) sum[q] += query_tile[group][d][q] * k;
    }
#pragma unroll
    for (int q = 0; q < GROUP; ++q) score[(group * GROUP + q) * KEYS + threadIdx.x] = sum[q] * 0.125f;
  }
}

int main() {
  auto q = [](size_t i) { return float(i % 911) / 911.f - 0.4f; };
  auto k = [](size_t i) { return float(i % 1009) / 1009.f - 0.6f; };
  auto* query = device_array<float>(size_t(WINDOWS) * QUERIES * DIM, q);
  auto* key = device_array<float>(size_t(WINDOWS) * KEYS * DIM, k);
  auto* score = device_zeros<float>(size_t(WINDOWS) * QUERIES * KEYS);
  launch_twice([&] { held_window_scores<<<WINDOWS, KEYS>>>(query, key, score); });
  bool ok = true;
  for (size_t window : {0, 500, 1055})
    for (size_t row : {0, 13, 63})
      for (size_t column : {0, 40, 127}) {
        double expected = 0;
        for (size_t d = 0; d < DIM; ++d)
          expected += double(q(((window * QUERIES + row) * DIM + d) % PATTERN)) * k(((window * KEYS + column) * DIM + d) % PATTERN);
        ok = ok && close_to(peek(score, (window * QUERIES + row) * KEYS + column), expected * 0.125);
      }
  return finish(ok);
}
