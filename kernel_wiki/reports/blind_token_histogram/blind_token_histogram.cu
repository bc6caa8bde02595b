// Symbol statistics of run-length tokens for an entropy coder: hist[symbol] += run, one shared histogram a block. Three tokens in four carry
// symbol 0, so a warp's shared atomics meet ~24 times on one word and go one after another: 2^24 tokens / 32 / 64 blocks x >= 24 cycles = 200k
// cycles (110 us or more), against 32 MiB of reads (8 us at full bandwidth). Besides, only 64 blocks were launched to keep the merge cheap: 68 of 132 SMs idle.
#include "../evidence.cuh"

constexpr int BLOCKS = 64, THREADS = 1024, SYMBOLS = 256;
constexpr size_t TOKENS = size_t(1) << 24, PACKED = 8;  // eight 16-bit tokens a 16-byte load

__device__ void count(unsigned* hist, unsigned pair) {
  atomicAdd(&hist[pair & 255], pair >> 8 & 255);
  atomicAdd(&hist[pair >> 16 & 255], pair >> 24);
}

__global__ __launch_bounds__(THREADS) void blind_token_histogram(const uint4* __restrict__ tokens, unsigned* __restrict__ partial) {
  __shared__ unsigned hist[SYMBOLS];
  if (threadIdx.x < SYMBOLS) hist[threadIdx.x] = 0;
  __syncthreads();
  for (size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x; i < TOKENS / PACKED; i += size_t(BLOCKS) * THREADS) {
    uint4 packed = tokens[i];
    count(hist, packed.x);
    count(hist, packed.y);
    count(hist, packed.z);
    count(hist, packed.w);
  }
  __syncthreads();
  if (threadIdx.x < SYMBOLS) partial[blockIdx.x * SYMBOLS + threadIdx.x] = hist[threadIdx.x];
}

static unsigned short token(size_t i) {
  unsigned hash = unsigned(i) * 2654435761u;
  hash ^= hash >> 15;
  hash *= 2246822519u;
  hash ^= hash >> 13;
  unsigned symbol = (hash & 3) ? 0 : hash >> 8 & 255;
  return static_cast<unsigned short>(symbol | (1 + (hash >> 20 & 63)) << 8);
}

int main() {
  auto* tokens = device_array<unsigned short>(TOKENS, token);
  auto* partial = device_zeros<unsigned>(BLOCKS * SYMBOLS);
  launch_twice([&] { blind_token_histogram<<<BLOCKS, THREADS>>>(reinterpret_cast<const uint4*>(tokens), partial); });
  std::vector<unsigned> expected(SYMBOLS), got(SYMBOLS);
  for (size_t i = 0; i < PATTERN; ++i) expected[token(i) & 255] += (token(i) >> 8) * unsigned(TOKENS / PATTERN);
  std::vector<unsigned> host(BLOCKS * SYMBOLS);
  CUDA_CHECK(cudaMemcpy(host.data(), partial, host.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < host.size(); ++i) got[i % SYMBOLS] += host[i];
  return finish(got == expected && got[0] > 0);
}
