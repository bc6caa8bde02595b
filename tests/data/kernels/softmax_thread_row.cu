#include <math.h>

// One thread a row, three passes over it.
__global__ void softmax_forward(const float* logits, float* probs, int rows, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float top = -1e30f, total = 0.0f;
  for (int j = 0; j < n; j++) top = fmaxf(top, logits[row * n + j]);
  for (int j = 0; j < n; j++) total += expf(logits[row * n + j] - top);
  for (int j = 0; j < n; j++) probs[row * n + j] = expf(logits[row * n + j] - top) / total;
}
