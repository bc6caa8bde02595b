__global__ void softmax_rows(const float* x, float* y, int n) {
  float m = -1e30f;
  for (int i = threadIdx.x; i < n; i += 32) m = fmaxf(m, x[blockIdx.x * n + i];
  m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, 16));
  y[blockIdx.x * n + threadIdx.x] = __expf(x[blockIdx.x * n + threadIdx.x] - m);
}
