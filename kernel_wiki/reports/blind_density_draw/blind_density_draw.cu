// Draws pairs from a learned density q(x) q(y), q a polynomial of degree 64, by rejection. All in double although draws are float: some 138
// double instructions a try, 276 clocks of the fp64 pipe for about 250 issue slots. And a try succeeds in 7.9 %, so a warp loops for
// its unluckiest lane: about 49 rounds where a lane needs 13, a quarter of the lanes active. Memory: 4 MB written.
#include "../evidence.cuh"

constexpr int DRAWS = 1 << 19, THREADS = 256, DEGREE = 64;
constexpr double UNIT = 1.0 / 4294967296.0;

static __constant__ double coefficients[DEGREE + 1];

// All positive and shrinking, so that the polynomial is positive on [-1, 1] and largest at 1.
static double coefficient(int k) {
  return std::pow(0.8, k) * (k % 4 == 0 ? 1.05 : 1.0);
}

__host__ __device__ __forceinline__ unsigned mixed(unsigned h) {
  h ^= h >> 16;
  h *= 0x7feb352du;
  h ^= h >> 15;
  h *= 0x846ca68bu;
  return h ^ h >> 16;
}

__global__ __launch_bounds__(THREADS) void blind_density_draw(double ceiling, float2* __restrict__ draws) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  unsigned seed = mixed(i * 747796405u + 2891336453u);
  double x, y, at_x, at_y;
  do {
    x = mixed(seed) * (2.0 * UNIT) - 1.0;
    y = mixed(seed + 1) * (2.0 * UNIT) - 1.0;
    at_x = at_y = coefficients[DEGREE];
#pragma unroll
    for (int k = DEGREE - 1; k >= 0; --k) {
      at_x = fma(at_x, x, coefficients[k]);
      at_y = fma(at_y, y, coefficients[k]);
    }
    seed += 3;
  } while (mixed(seed - 1) * UNIT * ceiling >= at_x * at_y);
  draws[i] = make_float2(float(x), float(y));
}

static float2 draw_on_host(int i, double ceiling) {
  unsigned seed = mixed(unsigned(i) * 747796405u + 2891336453u);
  for (;; seed += 3) {
    double x = mixed(seed) * (2.0 * UNIT) - 1.0, y = mixed(seed + 1) * (2.0 * UNIT) - 1.0, at_x = 0, at_y = 0;
    for (int k = DEGREE; k >= 0; --k) {
      at_x = at_x * x + coefficient(k);
      at_y = at_y * y + coefficient(k);
    }
    if (mixed(seed + 2) * UNIT * ceiling < at_x * at_y) return make_float2(float(x), float(y));
  }
}

int main() {
  std::vector<double> table(DEGREE + 1);
  double largest = 0;
  for (int k = 0; k <= DEGREE; ++k) largest += table[k] = coefficient(k);
  CUDA_CHECK(cudaMemcpyToSymbol(coefficients, table.data(), table.size() * sizeof(double)));
  auto* draws = device_zeros<float2>(DRAWS);
  double ceiling = largest * largest;
  launch_twice([&] { blind_density_draw<<<DRAWS / THREADS, THREADS>>>(ceiling, draws); });
  bool ok = true;
  for (int i : {0, 1, 4095, 300007, DRAWS - 1}) {
    float2 got = peek(draws, i), expected = draw_on_host(i, ceiling);
    ok = ok && close_to(got.x, expected.x, 1e-5) && close_to(got.y, expected.y, 1e-5);
  }
  return finish(ok);
}
