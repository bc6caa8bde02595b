// Matrix times vector, 4-bit weights (32 a 16-byte load) and 8-bit activations: low and high nibbles each meet four activations in one
// dp4a, five instructions for eight weights. A warp takes two rows of 8,192 and shares the activations, which stay in L1. 381 MB of weights
// are read once: DRAM bandwidth alone.
#include "../evidence.cuh"

constexpr int COLUMNS = 8192, THREADS = 256, ROWS = 2, STEPS = COLUMNS / 32 / 32, BATCH = 2;  // STEPS 16-byte loads a lane and row
constexpr int ZERO = 8;                                                                      // what a nibble of weight 0 holds

static __device__ int dot8(unsigned weights, int low, int high, int sum) {
  sum = __dp4a(int(weights & 0x0f0f0f0fu), low, sum);
  return __dp4a(int(weights >> 4 & 0x0f0f0f0fu), high, sum);
}

static __device__ int dot32(uint4 w, int4 low, int4 high, int sum) {
  return dot8(w.w, low.w, high.w, dot8(w.z, low.z, high.z, dot8(w.y, low.y, high.y, dot8(w.x, low.x, high.x, sum))));
}

// `low` and `high` hold the activations that meet the low and the high nibbles; `offset` is ZERO times the sum of all activations.
__global__ __launch_bounds__(THREADS) void good_gemv_int4(const uint4* __restrict__ w, const int4* __restrict__ low, const int4* __restrict__ high,
                                                          const float* __restrict__ scale, int offset, float* __restrict__ y) {
  const int lane = threadIdx.x % 32;
  const size_t row = (size_t(blockIdx.x) * (THREADS / 32) + threadIdx.x / 32) * ROWS;
  const uint4* from = w + row * (COLUMNS / 32) + lane;
  int sum[ROWS] = {};
#pragma unroll 1
  for (int step = 0; step < STEPS; step += BATCH) {
    uint4 held[BATCH][ROWS];
#pragma unroll
    for (int i = 0; i < BATCH; ++i)
#pragma unroll
      for (int r = 0; r < ROWS; ++r) held[i][r] = __ldcs(&from[r * (COLUMNS / 32) + (step + i) * 32]);
#pragma unroll
    for (int i = 0; i < BATCH; ++i) {
      const int4 a = low[(step + i) * 32 + lane], b = high[(step + i) * 32 + lane];
#pragma unroll
      for (int r = 0; r < ROWS; ++r) sum[r] = dot32(held[i][r], a, b, sum[r]);
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const int total = __reduce_add_sync(0xffffffff, sum[r]);
    if (lane == r) y[row + r] = scale[row + r] * float(total - offset);
  }
}

int main() {
  const int blocks = sm_count() * 44, rows = blocks * (THREADS / 32) * ROWS;
  auto* w = device_array<unsigned>(size_t(rows) * COLUMNS / 8, [](size_t i) { return unsigned(i) * 2654435761u; });
  auto* low = device_array<int>(COLUMNS / 8, [](size_t i) { return int((i * 0x01030507u) & 0x3f3f3f3fu); });
  auto* high = device_array<int>(COLUMNS / 8, [](size_t i) { return int((i * 0x07050301u) & 0x3f3f3f3fu); });
  auto* scale = device_array<float>(rows, [](size_t i) { return 0.25f + float(i % 3); });
  auto* y = device_zeros<float>(rows);
  const size_t row = 777;
  int offset = 0, expected = 0;
  for (int i = 0; i < COLUMNS / 8; ++i) {
    const unsigned packed = peek(w, row * COLUMNS / 8 + i);
    const int a = peek(low, i), b = peek(high, i);
    for (int j = 0; j < 4; ++j) {
      const int even = a >> (8 * j) & 255, odd = b >> (8 * j) & 255;
      offset += ZERO * (even + odd);
      expected += int(packed >> (8 * j) & 15) * even + int(packed >> (8 * j + 4) & 15) * odd;
    }
  }
  const auto vectors = [](int* p) { return reinterpret_cast<int4*>(p); };
  launch_twice([&] { good_gemv_int4<<<blocks, THREADS>>>(reinterpret_cast<uint4*>(w), vectors(low), vectors(high), scale, offset, y); });
  return finish(close_to(peek(y, row), double(peek(scale, row)) * (expected - offset)));
}
