// Double-precision chains on a quarter of the SMs: the grid is the first fault (four times the SMs stand ready); on the SMs that work, the
// fp64 pipe is full, which is what remains once the grid is right.
#include "../evidence.cuh"

constexpr int THREADS = 512, STEPS = 8192, CHAINS = 8;

__global__ void fp64_small_grid(double* __restrict__ y, double factor, double term) {
  const size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  double a[CHAINS];
#pragma unroll
  for (int c = 0; c < CHAINS; ++c) a[c] = double(threadIdx.x + c);
  for (int step = 0; step < STEPS; ++step)
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) a[c] = fma(a[c], factor, term);
  double sum = 0;
#pragma unroll
  for (int c = 0; c < CHAINS; ++c) sum += a[c];
  y[i] = sum;
}

int main() {
  const int blocks = sm_count() / 4;
  auto* y = device_zeros<double>(size_t(blocks) * THREADS);
  launch_twice([&] { fp64_small_grid<<<blocks, THREADS>>>(y, 0.5, 1.0); });
  return finish(close_to(peek(y, 4321), 2.0 * CHAINS));
}
