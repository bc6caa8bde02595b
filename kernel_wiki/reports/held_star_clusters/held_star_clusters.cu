// Gravity inside each of 144 star clusters of 2048 stars: a block of 1024 threads per cluster, one to an SM. On 132 SMs that is one full wave and
// a second of 12 blocks: every block takes about 220 us (4.2 M pairs x 13 instructions / 128 lanes) at a nearly full FMA pipe, then 120 SMs
// idle as long again. Halving the blocks would save some 45 % of the time.
#include "../evidence.cuh"

constexpr int CLUSTERS = 144, STARS = 2048, THREADS = 1024;
constexpr float SOFTENING = 1e-3f;

__device__ inline float inverse_root(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline void attract(float4 star, float4 mine, float3& sum) {
  float dx = star.x - mine.x, dy = star.y - mine.y, dz = star.z - mine.z;
  float inverse = inverse_root(dx * dx + dy * dy + dz * dz + SOFTENING);
  float pull = star.w * inverse * inverse * inverse;
  sum.x += pull * dx;
  sum.y += pull * dy;
  sum.z += pull * dz;
}

__global__ __launch_bounds__(THREADS, 1) void held_star_clusters(const float4* __restrict__ stars, float4* __restrict__ acceleration) {
  __shared__ float4 cluster[STARS];
  size_t first = size_t(blockIdx.x) * STARS;
  float4 one = stars[first + threadIdx.x], two = stars[first + THREADS + threadIdx.x];
  cluster[threadIdx.x] = one;
  cluster[THREADS + threadIdx.x] = two;
  __syncthreads();
  float3 pull_one = make_float3(0.f, 0.f, 0.f), pull_two = pull_one;
#pragma unroll 8
  for (int j = 0; j < STARS; ++j) {
    float4 star = cluster[j];
    attract(star, one, pull_one);
    attract(star, two, pull_two);
  }
  acceleration[first + threadIdx.x] = make_float4(pull_one.x, pull_one.y, pull_one.z, 0.f);
  acceleration[first + THREADS + threadIdx.x] = make_float4(pull_two.x, pull_two.y, pull_two.z, 0.f);
}

static float coordinate(size_t i) { return float((unsigned(i) * 2654435761u) >> 12 & 0xffff) / 65536.f; }

static float4 star(size_t i) { return make_float4(coordinate(3 * i), coordinate(3 * i + 1), coordinate(3 * i + 2), 0.01f + float(i % 11) / 300.f); }

int main() {
  auto* stars = device_array<float4>(size_t(CLUSTERS) * STARS, star);
  auto* acceleration = device_zeros<float4>(size_t(CLUSTERS) * STARS);
  launch_twice([&] { held_star_clusters<<<CLUSTERS, THREADS>>>(stars, acceleration); });
  bool ok = true;
  for (size_t i : {size_t(5), size_t(77) * STARS + 1500, size_t(143) * STARS + 2047}) {
    float4 mine = star(i);
    double expected[3] = {};
    for (size_t j = i / STARS * STARS; j < (i / STARS + 1) * STARS; ++j) {
      float4 other = star(j);
      double dx = double(other.x) - mine.x, dy = double(other.y) - mine.y, dz = double(other.z) - mine.z;
      double r2 = dx * dx + dy * dy + dz * dz + SOFTENING;
      double pull = other.w / (r2 * std::sqrt(r2));
      expected[0] += pull * dx;
      expected[1] += pull * dy;
      expected[2] += pull * dz;
    }
    float4 got = peek(acceleration, i);
    ok = ok && close_to(got.x, expected[0], 5e-3) && close_to(got.y, expected[1], 5e-3) && close_to(got.z, expected[2], 5e-3);
  }
  return finish(ok);
}
