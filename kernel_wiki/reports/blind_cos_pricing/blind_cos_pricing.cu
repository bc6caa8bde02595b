// Option prices at 2^22 log-strikes by a cosine series of 256 terms (COS method): cos(k * angle) by the special function unit for every term, although
// neighbouring terms follow from a two-term recurrence on the FMA pipe. 1.07e9 MUFU at 16 a cycle an SM: 260 us; the 5 other
// instructions of a term take 5/8 of that time to issue, 32 MiB of DRAM traffic 8 us.
#include "../evidence.cuh"

constexpr int STRIKES = 1 << 22, THREADS = 256, TERMS = 256;

__global__ void blind_cos_pricing(const float* __restrict__ angle, const float* __restrict__ weights, float* __restrict__ price) {
  __shared__ float weight[TERMS];
  for (int k = threadIdx.x; k < TERMS; k += THREADS) weight[k] = weights[k];
  __syncthreads();
  int i = blockIdx.x * THREADS + threadIdx.x;
  float step = angle[i], sum = 0.f, term = 0.f;
#pragma unroll 8
  for (int k = 0; k < TERMS; ++k) {
    sum += weight[k] * __cosf(term * step);
    term += 1.f;
  }
  price[i] = sum;
}

static float angle_of(size_t i) { return 0.05f + float(i % 65521) * (3.f / 65521.f); }
static float weight_of(size_t k) { return 10.f * std::exp(-float(k) / 60.f) / float(k + 1); }

int main() {
  auto* angle = device_array<float>(STRIKES, angle_of);
  auto* weights = device_array<float>(TERMS, weight_of);
  auto* price = device_zeros<float>(STRIKES);
  launch_twice([&] { blind_cos_pricing<<<STRIKES / THREADS, THREADS>>>(angle, weights, price); });
  bool ok = true;
  for (size_t i : {size_t(0), size_t(4321), size_t(3000000), size_t(STRIKES - 1)}) {
    double sum = 0;
    for (int k = 0; k < TERMS; ++k) sum += double(weight_of(k)) * std::cos(k * double(angle_of(i % PATTERN)));
    ok = ok && close_to(peek(price, i), sum);
  }
  return finish(ok);
}
