// A 9x9 image filter that clamps its coordinates and computes a 64-bit strided address anew at every tap, inside the image as well: some 18
// instructions for one multiply-add, 81 taps for 9.4 M pixels = 440 M warp instructions or 830 k issue cycles a scheduler (420 us). Loads hit
// L1 and DRAM moves 75 MB (16 us): the issue slots are full, and nine in ten of them hold address overhead.
#include "../evidence.cuh"

constexpr int WIDTH = 4096, HEIGHT = 2304, RADIUS = 4;

__device__ static int clamped(int x, int size) { return max(min(x, size - 1), 0); }

// Images of any layout: strides in elements.
__global__ void held_border_filter(const float* __restrict__ in, const float* __restrict__ weights, float* __restrict__ out, int width, int height,
                                   long long row_stride, long long column_stride, int radius) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0.f;
  for (int dy = -radius; dy <= radius; ++dy)
    for (int dx = -radius; dx <= radius; ++dx)
      sum += weights[(dy + radius) * (2 * radius + 1) + dx + radius] * in[clamped(y + dy, height) * row_stride + clamped(x + dx, width) * column_stride];
  out[y * row_stride + x * column_stride] = sum;
}

int main() {
  constexpr int SIDE = 2 * RADIUS + 1;
  auto pixel_at = [](size_t i) { return float((i * 7919) % 1021) / 1021.f; };
  auto weight_at = [](size_t i) { return float(i % 13 + 1) / 560.f; };
  auto* in = device_array<float>(size_t(WIDTH) * HEIGHT, pixel_at);
  auto* weights = device_array<float>(SIDE * SIDE, weight_at);
  auto* out = device_zeros<float>(size_t(WIDTH) * HEIGHT);
  dim3 block(32, 8), grid(WIDTH / 32, HEIGHT / 8);
  launch_twice([&] { held_border_filter<<<grid, block>>>(in, weights, out, WIDTH, HEIGHT, WIDTH, 1, RADIUS); });
  bool ok = true;
  for (auto [x, y] : {std::pair(0, 0), std::pair(WIDTH - 1, HEIGHT - 2), std::pair(1234, 777)}) {
    double sum = 0;
    for (int dy = -RADIUS; dy <= RADIUS; ++dy)
      for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
        int row = std::clamp(y + dy, 0, HEIGHT - 1), column = std::clamp(x + dx, 0, WIDTH - 1);
        sum += double(weight_at((dy + RADIUS) * SIDE + dx + RADIUS)) * pixel_at((size_t(row) * WIDTH + column) % PATTERN);
      }
    ok = ok && close_to(peek(out, size_t(y) * WIDTH + x), sum);
  }
  return finish(ok);
}
