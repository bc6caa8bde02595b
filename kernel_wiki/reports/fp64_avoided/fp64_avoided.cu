// The cure of fp64_chain: the iteration contracts, each step halves the error of all before it. 960 steps in fp32, then 64 in fp64
// that shrink what fp32 left (2^-24) below the rounding of a double: the same result to the last digits, an eighth of the fp64 work.
#include "../evidence.cuh"

constexpr int THREADS = 256, STEPS = 1024, REFINED = 64, CHAINS = 8;

__global__ void fp64_avoided(double* __restrict__ y, double factor, double term) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float rough_factor = float(factor), rough_term = float(term), rough[CHAINS];
  for (int c = 0; c < CHAINS; ++c) rough[c] = float(threadIdx.x + c);
#pragma unroll 4
  for (int step = 0; step < STEPS - REFINED; ++step)
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) rough[c] = fmaf(rough[c], rough_factor, rough_term);
  double a[CHAINS], sum = 0;
  for (int c = 0; c < CHAINS; ++c) a[c] = rough[c];
  for (int step = 0; step < REFINED; ++step)
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) a[c] = fma(a[c], factor, term);
  for (int c = 0; c < CHAINS; ++c) sum += a[c];
  y[i] = sum;
}

int main() {
  int blocks = sm_count() * 8 * 4;
  auto* y = device_zeros<double>(size_t(blocks) * THREADS);
  launch_twice([&] { fp64_avoided<<<blocks, THREADS>>>(y, 0.5, 1.0); });
  return finish(close_to(peek(y, 4321), 2.0 * CHAINS, 1e-14));
}
