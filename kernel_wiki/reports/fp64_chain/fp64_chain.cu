// The same chains in double precision: full rate on data-centre parts is half the fp32 rate, on others 1/32 to 1/64.
#include "../evidence.cuh"

constexpr int THREADS = 256, STEPS = 1024, CHAINS = 8;

__global__ void fp64_chain(double* __restrict__ y, double factor, double term) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  double a[CHAINS];
  for (int c = 0; c < CHAINS; ++c) a[c] = double(threadIdx.x + c);
  for (int step = 0; step < STEPS; ++step)
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) a[c] = fma(a[c], factor, term);
  double sum = 0;
  for (int c = 0; c < CHAINS; ++c) sum += a[c];
  y[i] = sum;
}

int main() {
  int blocks = sm_count() * 8 * 4;
  auto* y = device_zeros<double>(size_t(blocks) * THREADS);
  launch_twice([&] { fp64_chain<<<blocks, THREADS>>>(y, 0.5, 1.0); });
  return finish(close_to(peek(y, 4321), 2.0 * CHAINS));
}
