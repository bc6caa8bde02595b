// Camera colour correction by a polynomial of degree 7 in red, green and blue (120 terms a channel) as nested Horner schemes with coefficients
// as immediates, two pixels a thread: six independent chains, 360 multiply-adds for 24 bytes. 10.5 M pixels are 3.8 G multiply-adds or
// 113 us at 67 TFLOP/s, 252 MB are 56 us: the multiply-add pipe is the roof.
#include "../evidence.cuh"

constexpr int DEGREE = 7, THREADS = 256;
constexpr size_t PIXELS = 10 << 20, PAIRS = PIXELS / 2;

__host__ __device__ static constexpr float coefficient(int channel, int i, int j, int k) {
  unsigned hash = (((unsigned(channel) * 8u + unsigned(i)) * 8u + unsigned(j)) * 8u + unsigned(k) + 1u) * 2654435761u;
  hash = (hash ^ hash >> 15) * 2246822519u;
  return float(int(hash >> 20) - 2048) / 16384.f;
}

template <int CHANNEL>
__device__ static float corrected(float r, float g, float b) {
  float outer = 0.f;
#pragma unroll
  for (int i = DEGREE; i >= 0; --i) {
    float middle = 0.f;
#pragma unroll
    for (int j = DEGREE - i; j >= 0; --j) {
      float inner = coefficient(CHANNEL, i, j, DEGREE - i - j);
#pragma unroll
      for (int k = DEGREE - i - j - 1; k >= 0; --k) inner = inner * b + coefficient(CHANNEL, i, j, k);
      middle = j == DEGREE - i ? inner : middle * g + inner;
    }
    outer = i == DEGREE ? middle : outer * r + middle;
  }
  return outer;
}

template <int CHANNEL>
__device__ static float2 both(float2 r, float2 g, float2 b) {
  return make_float2(corrected<CHANNEL>(r.x, g.x, b.x), corrected<CHANNEL>(r.y, g.y, b.y));
}

// in and out: [3][PAIRS], a plane after the other.
__global__ __launch_bounds__(THREADS) void held_poly_color(const float2* __restrict__ in, float2* __restrict__ out) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float2 r = in[i], g = in[PAIRS + i], b = in[2 * PAIRS + i];
  out[i] = both<0>(r, g, b);
  out[PAIRS + i] = both<1>(r, g, b);
  out[2 * PAIRS + i] = both<2>(r, g, b);
}

// The same polynomial term by term.
static double host_corrected(int channel, double r, double g, double b) {
  double sum = 0;
  for (int i = 0; i <= DEGREE; ++i)
    for (int j = 0; i + j <= DEGREE; ++j)
      for (int k = 0; i + j + k <= DEGREE; ++k) sum += coefficient(channel, i, j, k) * std::pow(r, i) * std::pow(g, j) * std::pow(b, k);
  return sum;
}

int main() {
  auto value_at = [](size_t i) { return float((i * 7919) % 1021) / 1021.f; };
  auto* in = device_array<float>(3 * PIXELS, value_at);
  auto* out = device_zeros<float>(3 * PIXELS);
  launch_twice([&] { held_poly_color<<<PAIRS / THREADS, THREADS>>>(reinterpret_cast<float2*>(in), reinterpret_cast<float2*>(out)); });
  bool ok = true;
  for (size_t pixel : {size_t(0), size_t(7654321), PIXELS - 1}) {
    float r = value_at(pixel % PATTERN), g = value_at((PIXELS + pixel) % PATTERN), b = value_at((2 * PIXELS + pixel) % PATTERN);
    for (int channel = 0; channel < 3; ++channel) ok = ok && close_to(peek(out, channel * PIXELS + pixel), host_corrected(channel, r, g, b));
  }
  return finish(ok);
}
