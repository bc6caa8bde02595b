// Cholesky factors of 202752 covariance matrices of order 8, a thread each, worked on in shared memory. Matrices lie 64 words apart there, so every
// access of a warp meets one bank 32 times: about 300 of them a thread, or 9 to 10 k cycles a warp. Second: the copies in and out go matrix by matrix too
// (32 sectors a request, 128 requests, some 4 k cycles). The bytes needed (16 KiB a warp) would take 0.9 k cycles, the arithmetic less.
#include "../evidence.cuh"

constexpr int THREADS = 128, BLOCKS_PER_SM = 6, WAVES = 2, ORDER = 8, WORDS = ORDER * ORDER;

__global__ __launch_bounds__(THREADS) void blind_cholesky_batch(const float* __restrict__ covariance, float* __restrict__ factor, int order) {
  __shared__ float tile[THREADS * WORDS];
  float* own = tile + threadIdx.x * WORDS;
  size_t first = (size_t(blockIdx.x) * THREADS + threadIdx.x) * WORDS;
  for (int e = 0; e < order * ORDER; ++e) own[e] = covariance[first + e];
  for (int j = 0; j < order; ++j) {
    float diagonal = own[j * ORDER + j];
    for (int k = 0; k < j; ++k) diagonal -= own[j * ORDER + k] * own[j * ORDER + k];
    diagonal = sqrtf(diagonal);
    own[j * ORDER + j] = diagonal;
    float inverse = 1.f / diagonal;
    for (int i = j + 1; i < order; ++i) {
      float sum = own[i * ORDER + j];
      for (int k = 0; k < j; ++k) sum -= own[i * ORDER + k] * own[j * ORDER + k];
      own[i * ORDER + j] = sum * inverse;
    }
  }
  for (int e = 0; e < order * ORDER; ++e) factor[first + e] = own[e];
}

static float element(size_t i) {
  size_t row = i % WORDS / ORDER, column = i % ORDER;
  float noise = float(i * 7919 % 1009) / 1009.f;
  return row == column ? 6.f + noise : noise;
}

static bool check(const float* factor, size_t matrix) {
  double l[ORDER][ORDER];
  bool ok = true;
  for (int i = 0; i < ORDER; ++i)
    for (int j = 0; j <= i; ++j) {
      double sum = element((matrix * WORDS + i * ORDER + j) % PATTERN);
      for (int k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
      l[i][j] = i == j ? std::sqrt(sum) : sum / l[j][j];
      ok = ok && close_to(peek(factor, matrix * WORDS + i * ORDER + j), l[i][j]);
    }
  return ok;
}

int main() {
  int blocks = sm_count() * BLOCKS_PER_SM * WAVES, matrices = blocks * THREADS;
  auto* covariance = device_array<float>(size_t(matrices) * WORDS, element);
  auto* factor = device_zeros<float>(size_t(matrices) * WORDS);
  launch_twice([&] { blind_cholesky_batch<<<blocks, THREADS>>>(covariance, factor, ORDER); });
  return finish(check(factor, 4321) && check(factor, matrices - 1));
}
