// Gradient and hessian histograms of a boosted tree's root: 24 features of 256 bins, one block a feature and a chunk of rows, float atomics
// into shared memory. Features are sparse, 85 % of rows fall into bin 0: some 27 lanes of a warp add to one word, and a shared float
// atomic is a compare-and-swap loop, so each of the two adds takes about 27 rounds. Bytes (29 MB) would need 8 us.
#include "../evidence.cuh"

constexpr int THREADS = 256, PER_THREAD = 12, CHUNKS = 44, ROWS_PER_BLOCK = THREADS * PER_THREAD, ROWS = CHUNKS * ROWS_PER_BLOCK;
constexpr int FEATURES = 24, BINS = 256;

static unsigned char bin_of(size_t i) {
  unsigned h = unsigned(i) * 2654435761u;
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  return h % 100 < 85 ? 0 : static_cast<unsigned char>(1 + (h >> 8) % 255);
}

static float2 gradient_of(size_t row) {
  return make_float2(float(row % 97) * 0.01f - 0.3f, 0.05f + float(row % 31) * 0.005f);
}

__global__ __launch_bounds__(THREADS) void blind_gbdt_histogram(const unsigned char* __restrict__ bins,
                                                                const float2* __restrict__ gradients, float2* __restrict__ histograms) {
  __shared__ float gradient[BINS], hessian[BINS];
  static_assert(THREADS == BINS, "one bin a thread");
  gradient[threadIdx.x] = hessian[threadIdx.x] = 0.f;
  __syncthreads();
  int feature = blockIdx.y, first = blockIdx.x * ROWS_PER_BLOCK;
#pragma unroll 4
  for (int k = 0; k < PER_THREAD; ++k) {
    int row = first + k * THREADS + threadIdx.x;
    int bin = bins[feature * ROWS + row];
    float2 pair = gradients[row];
    atomicAdd(&gradient[bin], pair.x);
    atomicAdd(&hessian[bin], pair.y);
  }
  __syncthreads();
  histograms[size_t(feature * CHUNKS + blockIdx.x) * BINS + threadIdx.x] = make_float2(gradient[threadIdx.x], hessian[threadIdx.x]);
}

int main() {
  auto* bins = device_array<unsigned char>(size_t(FEATURES) * ROWS, bin_of);
  auto* gradients = device_array<float2>(ROWS, gradient_of);
  auto* histograms = device_zeros<float2>(size_t(FEATURES) * CHUNKS * BINS);
  launch_twice([&] { blind_gbdt_histogram<<<dim3(CHUNKS, FEATURES), THREADS>>>(bins, gradients, histograms); });
  bool ok = true;
  for (int feature : {0, 11, FEATURES - 1})
    for (int chunk : {0, CHUNKS - 1}) {
      std::vector<double> expected(2 * BINS, 0.);
      for (int row = chunk * ROWS_PER_BLOCK; row < (chunk + 1) * ROWS_PER_BLOCK; ++row) {
        int bin = bin_of((size_t(feature) * ROWS + row) % PATTERN);
        expected[2 * bin] += gradient_of(row).x;
        expected[2 * bin + 1] += gradient_of(row).y;
      }
      for (int bin : {0, 1, 77, BINS - 1}) {
        float2 got = peek(histograms, size_t(feature * CHUNKS + chunk) * BINS + bin);
        ok = ok && close_to(got.x, expected[2 * bin]) && close_to(got.y, expected[2 * bin + 1]);
      }
    }
  return finish(ok);
}
