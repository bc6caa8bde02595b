// An array of structures of 32 bytes of which two floats are used: the lanes of a warp are a sector apart, so each load touches 32
// sectors for 128 bytes of use. 384 MiB come from DRAM where 96 would do: DRAM is full, and three quarters of its reads are waste.
#include "../evidence.cuh"

namespace {
struct Particle {
  float x, y, z, mass, vx, vy, vz, charge;
};
}  // namespace

constexpr int THREADS = 256, PER = 4;
constexpr size_t COUNT = size_t(12) << 20;

__global__ void strided_struct(const Particle* __restrict__ particles, float* __restrict__ momentum) {
  const size_t base = size_t(blockIdx.x) * THREADS * PER + threadIdx.x;
  float mass[PER], vx[PER];
#pragma unroll
  for (int i = 0; i < PER; ++i) mass[i] = particles[base + i * THREADS].mass;
#pragma unroll
  for (int i = 0; i < PER; ++i) vx[i] = particles[base + i * THREADS].vx;
#pragma unroll
  for (int i = 0; i < PER; ++i) momentum[base + i * THREADS] = mass[i] * vx[i];
}

static Particle particle(size_t i) {
  const float v = i % 97;
  return {v, v + 1, v + 2, 0.5f + i % 3, v - 40, 2 * v, 3 * v, float(i % 2)};
}

int main() {
  auto* particles = device_array<Particle>(COUNT, particle);
  auto* momentum = device_zeros<float>(COUNT);
  launch_twice([&] { strided_struct<<<COUNT / (THREADS * PER), THREADS>>>(particles, momentum); });
  const Particle one = particle(4321);
  return finish(peek(momentum, 4321) == one.mass * one.vx);
}
