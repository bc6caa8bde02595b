// Attention scores q k^T / sqrt(d) with one thread a score: neighbouring lanes read neighbouring rows of k, a whole row apart, so
// every load of k touches 32 sectors, and no loaded value is used twice by a thread.
#include "../evidence.cuh"

constexpr int HEADS = 4, LENGTH = 2048, DIM = 64;

__global__ void naive_attention_scores(const float* __restrict__ q, const float* __restrict__ k, float* __restrict__ scores) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y, head = blockIdx.z;
  const float* query = q + (size_t(head) * LENGTH + row) * DIM;
  const float* key = k + (size_t(head) * LENGTH + column) * DIM;
  float sum = 0.f;
  for (int i = 0; i < DIM; ++i) sum += query[i] * key[i];
  scores[(size_t(head) * LENGTH + row) * LENGTH + column] = sum * rsqrtf(float(DIM));
}

int main() {
  size_t count = size_t(HEADS) * LENGTH * DIM;
  auto* q = device_array<float>(count, [](size_t i) { return float(i % 7) * 0.25f; });
  auto* k = device_array<float>(count, [](size_t i) { return float(i % 5) * 0.5f - 0.5f; });
  auto* scores = device_zeros<float>(size_t(HEADS) * LENGTH * LENGTH);
  launch_twice([&] { naive_attention_scores<<<dim3(LENGTH / 128, LENGTH, HEADS), 128>>>(q, k, scores); });
  double expected = 0;
  for (int i = 0; i < DIM; ++i) expected += double(peek(q, size_t(77) * DIM + i)) * peek(k, size_t(1029) * DIM + i);
  return finish(close_to(peek(scores, size_t(77) * LENGTH + 1029), expected / 8));
}
