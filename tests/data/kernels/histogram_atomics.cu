__global__ void count(const unsigned char* pixels, unsigned int* bins, unsigned* seen, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&bins[pixels[i]], 1u);
    atomicAdd(seen, 1u);
  }
}
