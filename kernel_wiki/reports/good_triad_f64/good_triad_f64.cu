// STREAM triad in double precision: two arrays of 104 MB are read and one written, each once, 16 bytes an access and four loads in flight a
// thread (128 KB an SM at full occupancy, three times what the DRAM's latency asks for). Nothing but DRAM bandwidth is left.
#include "../evidence.cuh"

constexpr int THREADS = 256, VECTORS = 2;

__global__ void good_triad_f64(const double2* __restrict__ b, const double2* __restrict__ c, double2* __restrict__ a, double scale) {
  const size_t base = size_t(blockIdx.x) * THREADS * VECTORS + threadIdx.x;
  double2 left[VECTORS], right[VECTORS];
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) {
    left[i] = b[base + i * THREADS];
    right[i] = c[base + i * THREADS];
  }
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) a[base + i * THREADS] = make_double2(left[i].x + scale * right[i].x, left[i].y + scale * right[i].y);
}

int main() {
  const int blocks = sm_count() * 8 * 12;  // 12 whole waves
  const size_t count = size_t(blocks) * THREADS * VECTORS;
  auto* b = device_array<double2>(count, [](size_t i) { return make_double2(i + 1., i + 2.); });
  auto* c = device_array<double2>(count, [](size_t i) { return make_double2(i * 0.5, i * 0.25); });
  auto* a = device_zeros<double2>(count);
  launch_twice([&] { good_triad_f64<<<blocks, THREADS>>>(b, c, a, 3.); });
  const size_t at = count - 7;
  return finish(peek(a, at).y == peek(b, at).y + 3. * peek(c, at).y);
}
