// Group norm of one 256 x 256 image of 256 channels in 32 groups, loops kept from channel-first code although the tensor is channel-last:
// channel outside, pixel inside, so the lanes of a load stand 1 KiB apart (32 sectors a request for 4 bytes each) and every sector is
// fetched 8 times a pass (67 MB become 537 MB; read twice and written once). One block a group as well: 32 blocks for 132 SMs.
#include "../evidence.cuh"

constexpr int PIXELS = 256 * 256, CHANNELS = 256, GROUPS = 32, PER_GROUP = CHANNELS / GROUPS, THREADS = 1024;

static float value_of(size_t i) {
  return float((i * 2654435761u >> 7) % 1009) * 0.004f - 1.5f;
}

__device__ float block_sum(float value, float* partial) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  __syncthreads();
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = partial[threadIdx.x % 32];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

__global__ __launch_bounds__(THREADS) void blind_group_norm(const float* __restrict__ x, const float* __restrict__ scale,
                                                            const float* __restrict__ shift, float* __restrict__ y) {
  __shared__ float partial[32];
  int first = blockIdx.x * PER_GROUP;
  float sum = 0.f, squares = 0.f;
  for (int c = first; c < first + PER_GROUP; ++c)
    for (int pixel = threadIdx.x; pixel < PIXELS; pixel += THREADS) {
      float v = x[size_t(pixel) * CHANNELS + c];
      sum += v;
      squares += v * v;
    }
  float mean = block_sum(sum, partial) / (PIXELS * PER_GROUP);
  float variance = block_sum(squares, partial) / (PIXELS * PER_GROUP) - mean * mean;
  float inverse = rsqrtf(variance + 1e-5f);
  for (int c = first; c < first + PER_GROUP; ++c) {
    float factor = inverse * scale[c], offset = shift[c] - mean * factor;
    for (int pixel = threadIdx.x; pixel < PIXELS; pixel += THREADS) {
      size_t i = size_t(pixel) * CHANNELS + c;
      y[i] = x[i] * factor + offset;
    }
  }
}

int main() {
  auto* x = device_array<float>(size_t(PIXELS) * CHANNELS, value_of);
  auto* scale = device_array<float>(CHANNELS, [](size_t c) { return 0.5f + float(c) / CHANNELS; });
  auto* shift = device_array<float>(CHANNELS, [](size_t c) { return float(c % 7) * 0.1f; });
  auto* y = device_zeros<float>(size_t(PIXELS) * CHANNELS);
  launch_twice([&] { blind_group_norm<<<GROUPS, THREADS>>>(x, scale, shift, y); });
  bool ok = true;
  for (int group : {0, 19}) {
    double sum = 0, squares = 0;
    for (int pixel = 0; pixel < PIXELS; ++pixel)
      for (int c = group * PER_GROUP; c < (group + 1) * PER_GROUP; ++c) {
        double v = value_of((size_t(pixel) * CHANNELS + c) % PATTERN);
        sum += v;
        squares += v * v;
      }
    double count = double(PIXELS) * PER_GROUP, mean = sum / count, inverse = 1 / std::sqrt(squares / count - mean * mean + 1e-5);
    for (int pixel : {3, 40001, PIXELS - 1}) {
      int c = group * PER_GROUP + pixel % PER_GROUP;
      size_t i = size_t(pixel) * CHANNELS + c;
      double expected = (value_of(i % PATTERN) - mean) * inverse * (0.5 + double(c) / CHANNELS) + (c % 7) * 0.1;
      ok = ok && close_to(peek(y, i), expected, 5e-3);
    }
  }
  return finish(ok);
}
