// Screened Coulomb (Yukawa) potential of 32768 particles, all pairs: tiles in shared memory, two targets a thread. Nothing is wrong: a pair needs a
// reciprocal root and an exponential whatever one does, 2.1 G special functions = 515 us at 16 lanes an SM, and its 9 FMA-pipe instructions keep
// the issue slots about 70 % busy meanwhile, so there is little room to move the functions to the FMA pipe.
#include "../evidence.cuh"

constexpr int PARTICLES = 32768, THREADS = 256, TARGETS = 2, CHUNKS = 64, CHUNK = PARTICLES / CHUNKS;
constexpr float SOFTENING = 1e-3f;

__device__ inline float inverse_root(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Positions are in units of the screening length times ln 2, so that the screening is 2^-r.
__device__ inline float pair_potential(float4 source, float4 target) {
  float dx = source.x - target.x, dy = source.y - target.y, dz = source.z - target.z;
  float r2 = dx * dx + dy * dy + dz * dz + SOFTENING;
  float inverse = inverse_root(r2);
  return source.w * inverse * power_of_two(-r2 * inverse);
}

__global__ __launch_bounds__(THREADS) void held_screened_coulomb(const float4* __restrict__ particles, float* __restrict__ partial) {
  __shared__ float4 tile[CHUNK];
  int first = blockIdx.x * THREADS * TARGETS + threadIdx.x;
  for (int j = threadIdx.x; j < CHUNK; j += THREADS) tile[j] = particles[blockIdx.y * CHUNK + j];
  float4 one = particles[first], two = particles[first + THREADS];
  __syncthreads();
  float sum_one = 0.f, sum_two = 0.f;
#pragma unroll 8
  for (int j = 0; j < CHUNK; ++j) {
    float4 source = tile[j];
    sum_one += pair_potential(source, one);
    sum_two += pair_potential(source, two);
  }
  float* mine = partial + size_t(blockIdx.y) * PARTICLES + first;
  mine[0] = sum_one;
  mine[THREADS] = sum_two;
}

static float coordinate(size_t i) { return float((unsigned(i) * 2654435761u) >> 12 & 0xffff) / 16384.f; }

static float4 particle(size_t i) { return make_float4(coordinate(3 * i), coordinate(3 * i + 1), coordinate(3 * i + 2), 0.2f + float(i % 7) / 10.f); }

int main() {
  auto* particles = device_array<float4>(PARTICLES, particle);
  auto* partial = device_zeros<float>(size_t(CHUNKS) * PARTICLES);
  launch_twice([&] { held_screened_coulomb<<<dim3(PARTICLES / (THREADS * TARGETS), CHUNKS), THREADS>>>(particles, partial); });
  bool ok = true;
  for (int i : {0, 20011, PARTICLES - 1}) {
    int chunk = i % CHUNKS;
    float4 target = particle(i);
    double expected = 0;
    for (int j = chunk * CHUNK; j < (chunk + 1) * CHUNK; ++j) {
      float4 source = particle(j);
      double dx = double(source.x) - target.x, dy = double(source.y) - target.y, dz = double(source.z) - target.z;
      double r = std::sqrt(dx * dx + dy * dy + dz * dz + SOFTENING);
      expected += source.w / r * std::exp2(-r);
    }
    ok = ok && close_to(peek(partial, size_t(chunk) * PARTICLES + i), expected);
  }
  return finish(ok);
}
