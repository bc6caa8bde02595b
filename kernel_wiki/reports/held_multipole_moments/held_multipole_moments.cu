// Particle to multipole: a thread per cell holds all 120 moments of order 7 in registers while it walks the cell's 128 particles through an index
// list. The compiler takes 226 registers, which leave one block of 256 an SM (12.5 % occupancy), and every step waits for two dependent
// trips to DRAM, list then particle (some 1200 cycles), for 170 instructions: about 200 us where DRAM (205 MB) and FMA would each need 45.
#include "../evidence.cuh"

constexpr int THREADS = 256, CELLS = 264 * THREADS, SLOTS = 128, ORDER = 7, MOMENTS = (ORDER + 1) * (ORDER + 2) * (ORDER + 3) / 6;

__global__ __launch_bounds__(THREADS) void held_multipole_moments(const int* __restrict__ list, const float4* __restrict__ particles,
                                                                  float* __restrict__ moments) {
  int cell = blockIdx.x * THREADS + threadIdx.x;
  float moment[MOMENTS] = {};
  for (int slot = 0; slot < SLOTS; ++slot) {
    float4 particle = particles[list[size_t(slot) * CELLS + cell]];
    float power[ORDER + 1];
    power[0] = 1.f;
#pragma unroll
    for (int k = 1; k <= ORDER; ++k) power[k] = power[k - 1] * particle.z;
    int at = 0;
    float x = particle.w;
#pragma unroll
    for (int i = 0; i <= ORDER; ++i) {
      float xy = x;
#pragma unroll
      for (int j = 0; j <= ORDER - i; ++j) {
#pragma unroll
        for (int k = 0; k <= ORDER - i - j; ++k) moment[at++] += xy * power[k];
        xy *= particle.y;
      }
      x *= particle.x;
    }
  }
#pragma unroll
  for (int m = 0; m < MOMENTS; ++m) moments[size_t(m) * CELLS + cell] = moment[m];
}

// Slot-major, and not quite sorted: neighbours within eight have changed places since the last sort, so a warp still reads whole sectors.
static int listed(size_t slot, size_t cell) { return int(slot * CELLS + (cell ^ ((slot * 5 + cell / 8) & 7))); }

static float fraction(size_t i) { return float((unsigned(i) * 2654435761u) >> 10 & 0xffff) / 32768.f - 1.f; }

static float4 particle_at(size_t i) { return make_float4(fraction(3 * i), fraction(3 * i + 1), fraction(3 * i + 2), 0.5f + float(i % 5) / 4.f); }

int main() {
  std::vector<int> host(size_t(SLOTS) * CELLS);
  for (size_t slot = 0; slot < SLOTS; ++slot)
    for (size_t cell = 0; cell < CELLS; ++cell) host[slot * CELLS + cell] = listed(slot, cell);
  auto* list = device_memory<int>(host.size());
  CUDA_CHECK(cudaMemcpy(list, host.data(), host.size() * sizeof(int), cudaMemcpyHostToDevice));
  auto* particles = device_array<float4>(host.size(), particle_at);
  auto* moments = device_zeros<float>(size_t(MOMENTS) * CELLS);
  launch_twice([&] { held_multipole_moments<<<CELLS / THREADS, THREADS>>>(list, particles, moments); });
  bool ok = true;
  for (size_t cell : {size_t(3), size_t(40007), size_t(CELLS - 1)}) {
    int at = 0;
    for (int i = 0; i <= ORDER; ++i)
      for (int j = 0; j <= ORDER - i; ++j)
        for (int k = 0; k <= ORDER - i - j; ++k) {
          double expected = 0;
          for (size_t slot = 0; slot < SLOTS; ++slot) {
            float4 one = particle_at(size_t(listed(slot, cell)) % PATTERN);
            expected += one.w * std::pow(double(one.x), i) * std::pow(double(one.y), j) * std::pow(double(one.z), k);
          }
          if (at % 17 == 0) ok = ok && close_to(peek(moments, size_t(at) * CELLS + cell), expected);
          ++at;
        }
  }
  return finish(ok);
}
