#include <cuda_runtime.h>

__global__ void __launch_bounds__(1024, 2) stretch(const float* __restrict__ in, float* __restrict__ out, int width, int n) {
  float history[80];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < n; ++k) {
    int column = (i + k) % width;
    history[k % 80] = in[column] * 0.5;
  }
  out[i] = history[i % 80];
}
