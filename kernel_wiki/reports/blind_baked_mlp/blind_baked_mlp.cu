// A small MLP (16 -> 64, four hidden layers 64 -> 64, -> 1) whose weights a code generator wrote into the code as immediates: straight-line
// code of 17.5 k FFMA, 280 KB, run once a row by 8 warps an SM. Each of its instructions comes from beyond the 128 KiB instruction caches
// (again for every row) and serves only 8 warps: 16 clocks of FFMA per 128-byte line, which takes far longer to arrive.
#include "../evidence.cuh"

constexpr int INPUTS = 16, WIDTH = 64, HIDDEN = 4, THREADS = 256, ROWS_PER_THREAD = 3;

// What the code generator would have printed: layer, output and input give a fixed number of about +-0.2.
__host__ __device__ constexpr float weight(int layer, int output, int input) {
  unsigned h = unsigned(layer * 4096 + output * 64 + input + 1) * 2654435761u;
  h ^= h >> 15;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  return (float(int(h % 4001u)) - 1900.f) * 0.0001f;
}

template <int LAYER, int FAN_IN>
__device__ __forceinline__ void dense(const float* in, float* out) {
#pragma unroll
  for (int j = 0; j < WIDTH; ++j) {
    float sum = weight(LAYER, j, FAN_IN);
#pragma unroll
    for (int k = 0; k < FAN_IN; ++k) sum = fmaf(in[k], weight(LAYER, j, k), sum);
    out[j] = fmaxf(sum, 0.f);
  }
}

__device__ __forceinline__ float network(const float* row) {
  float a[WIDTH], b[WIDTH];
  dense<0, INPUTS>(row, a);
  dense<1, WIDTH>(a, b);
  dense<2, WIDTH>(b, a);
  dense<3, WIDTH>(a, b);
  dense<4, WIDTH>(b, a);
  float sum = 0.f;
#pragma unroll
  for (int k = 0; k < WIDTH; ++k) sum = fmaf(a[k], weight(HIDDEN + 1, 0, k), sum);
  return sum;
}

__global__ __launch_bounds__(THREADS, 1) void blind_baked_mlp(const float4* __restrict__ rows, float* __restrict__ scores) {
  int count = gridDim.x * THREADS;
#pragma unroll 1
  for (int r = 0; r < ROWS_PER_THREAD; ++r) {
    int row = r * count + blockIdx.x * THREADS + threadIdx.x;
    float x[INPUTS];
#pragma unroll
    for (int q = 0; q < INPUTS / 4; ++q) {
      float4 four = rows[size_t(row) * (INPUTS / 4) + q];
      x[4 * q] = four.x, x[4 * q + 1] = four.y, x[4 * q + 2] = four.z, x[4 * q + 3] = four.w;
    }
    scores[row] = network(x);
  }
}

static double network_on_host(const float* row) {
  double in[WIDTH], out[WIDTH], sum = 0;
  std::copy(row, row + INPUTS, in);
  for (int layer = 0; layer <= HIDDEN; ++layer) {
    int fan_in = layer == 0 ? INPUTS : WIDTH;
    for (int j = 0; j < WIDTH; ++j) {
      out[j] = weight(layer, j, fan_in);
      for (int k = 0; k < fan_in; ++k) out[j] += in[k] * weight(layer, j, k);
    }
    for (int j = 0; j < WIDTH; ++j) in[j] = std::max(out[j], 0.0);
  }
  for (int k = 0; k < WIDTH; ++k) sum += in[k] * weight(HIDDEN + 1, 0, k);
  return sum;
}

int main() {
  int blocks = sm_count();
  size_t count = size_t(blocks) * THREADS * ROWS_PER_THREAD;
  auto input_of = [](size_t i) { return float((i * 2654435761u >> 5) % 701) * 0.005f - 1.5f; };
  auto* rows = device_array<float>(count * INPUTS, input_of);
  auto* scores = device_zeros<float>(count);
  launch_twice([&] { blind_baked_mlp<<<blocks, THREADS>>>(reinterpret_cast<const float4*>(rows), scores); });
  bool ok = true;
  for (size_t row : {size_t(0), size_t(31), size_t(12345), count - 1}) {
    float x[INPUTS];
    for (int k = 0; k < INPUTS; ++k) x[k] = input_of((row * INPUTS + k) % PATTERN);
    ok = ok && close_to(peek(scores, row), network_on_host(x));
  }
  return finish(ok);
}
