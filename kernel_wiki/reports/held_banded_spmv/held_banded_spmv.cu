// y = A x with five stored diagonals (a 2D grid of 4096 x 4096, variable coefficients). Nothing is wrong: 5 diagonals + x read once and y written are
// 448 MB, all coalesced; the neighbours of x come from L1 and L2. DRAM-bound at about 105 us; the shifts by one are the problem's own.
#include "../evidence.cuh"

constexpr int NX = 4096, ROWS = NX * NX, THREADS = 256;

// x has a halo of one grid line on either side and points at its first inner value.
__global__ __launch_bounds__(THREADS) void held_banded_spmv(const float* __restrict__ south, const float* __restrict__ west,
                                                            const float* __restrict__ middle, const float* __restrict__ east,
                                                            const float* __restrict__ north, const float* __restrict__ x,
                                                            float* __restrict__ y) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  y[i] = south[i] * x[i - NX] + west[i] * x[i - 1] + middle[i] * x[i] + east[i] * x[i + 1] + north[i] * x[i + NX];
}

static float coefficient(int diagonal, size_t i) { return float((i * (2 * diagonal + 3)) % 1013) / 1013.f - 0.4f; }

static float value(size_t i) { return float((i * 29) % 997) / 499.f - 1.f; }

int main() {
  const float* band[5];
  for (int d = 0; d < 5; ++d) band[d] = device_array<float>(ROWS, [d](size_t i) { return coefficient(d, i); });
  auto* x = device_array<float>(size_t(ROWS) + 2 * NX, value) + NX;
  auto* y = device_zeros<float>(ROWS);
  launch_twice([&] { held_banded_spmv<<<ROWS / THREADS, THREADS>>>(band[0], band[1], band[2], band[3], band[4], x, y); });
  const int shift[5] = {-NX, -1, 0, 1, NX};
  bool ok = true;
  for (int i : {0, 1234567, ROWS - 1}) {
    double expected = 0;
    for (int d = 0; d < 5; ++d) expected += double(coefficient(d, i % PATTERN)) * value((size_t(i) + NX + shift[d]) % PATTERN);
    ok = ok && close_to(peek(y, i), expected);
  }
  return finish(ok);
}
