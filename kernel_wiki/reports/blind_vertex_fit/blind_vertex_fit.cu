// Fourth-power plane fit (a smooth stand-in for the largest distance): the error of a million candidate vertices against 512 planes, two vertices a thread.
// Vertices, planes and errors are float, three digits of the error are used, yet the sums are double "to be safe": 6 double operations a
// pair, 3.1e9 at 17 T/s: 185 us, twice the time in float. Planes are in shared memory (2 requests for 12 operations); DRAM: 20 MiB or 5 us.
#include "../evidence.cuh"

constexpr int PLANES = 512, THREADS = 256, BLOCKS_PER_SM = 5, WAVES = 3;

struct alignas(16) Plane {
  double x, y, z, w;
};

__global__ __launch_bounds__(THREADS, BLOCKS_PER_SM) void blind_vertex_fit(const float* __restrict__ x, const float* __restrict__ y,
                                                                           const float* __restrict__ z, const float4* __restrict__ planes,
                                                                           float* __restrict__ error) {
  __shared__ Plane plane[PLANES];
  for (int k = threadIdx.x; k < PLANES; k += THREADS) {
    float4 p = planes[k];
    plane[k].x = p.x;
    plane[k].y = p.y;
    plane[k].z = p.z;
    plane[k].w = p.w;
  }
  __syncthreads();
  int i = blockIdx.x * THREADS * 2 + threadIdx.x, j = i + THREADS;
  double xi = x[i], yi = y[i], zi = z[i], xj = x[j], yj = y[j], zj = z[j], first = 0, second = 0;
#pragma unroll 4
  for (int k = 0; k < PLANES; ++k) {
    double a = plane[k].x, b = plane[k].y, c = plane[k].z, d = plane[k].w;
    double near = a * xi + b * yi + c * zi + d, far = a * xj + b * yj + c * zj + d;
    near *= near;
    far *= far;
    first += near * near;
    second += far * far;
  }
  error[i] = float(first);
  error[j] = float(second);
}

static float coordinate(size_t i, int axis) { return float((i + 1) * (axis == 0 ? 7919 : axis == 1 ? 104729 : 1299709) % 2003) / 2003.f - 0.5f; }

static float4 plane_of(size_t k) {
  double turn = 2.399963 * double(k), height = 1 - (2 * double(k) + 1) / PLANES, radius = std::sqrt(1 - height * height);
  return {float(radius * std::cos(turn)), float(radius * std::sin(turn)), float(height), float(-0.4 - 0.001 * double(k % 100))};
}

int main() {
  int blocks = sm_count() * BLOCKS_PER_SM * WAVES;
  size_t vertices = size_t(blocks) * THREADS * 2;
  auto* x = device_array<float>(vertices, [](size_t i) { return coordinate(i, 0); });
  auto* y = device_array<float>(vertices, [](size_t i) { return coordinate(i, 1); });
  auto* z = device_array<float>(vertices, [](size_t i) { return coordinate(i, 2); });
  auto* planes = device_array<float4>(PLANES, plane_of);
  auto* error = device_zeros<float>(vertices);
  launch_twice([&] { blind_vertex_fit<<<blocks, THREADS>>>(x, y, z, planes, error); });
  bool ok = true;
  for (size_t i : {size_t(0), size_t(4321), size_t(777777), vertices - 1}) {
    double sum = 0;
    for (int k = 0; k < PLANES; ++k) {
      float4 p = plane_of(k);
      double distance = double(p.x) * coordinate(i, 0) + double(p.y) * coordinate(i, 1) + double(p.z) * coordinate(i, 2) + p.w;
      sum += std::pow(distance, 4);
    }
    ok = ok && close_to(peek(error, i), sum, 1e-4);
  }
  return finish(ok);
}
