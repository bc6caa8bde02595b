// Potential of 786432 charges at 264 probes, a block per probe: each block streams the whole table of 12.6 MB, coalesced. The table lies in the L2
// (DRAM sees it once), no L1 can keep it, and one probe a pass makes one use of each 16 bytes: 264 x 12.6 MB = 3.3 GB through the L2, 600 us
// at 5.5 TB/s, against 90 us of issue slots. Eight probes a block would cut the traffic to an eighth.
#include "../evidence.cuh"

constexpr int CHARGES = 768 * 1024, PROBES = 264, THREADS = 1024;
constexpr float SOFTENING = 1e-2f;

__global__ __launch_bounds__(THREADS, 1) void held_probe_potential(const float4* __restrict__ charges, const float4* __restrict__ probes,
                                                                   float* __restrict__ potential) {
  __shared__ float warp_sum[THREADS / 32];
  float4 probe = probes[blockIdx.x];
  float sum = 0.f;
#pragma unroll 8
  for (int i = threadIdx.x; i < CHARGES; i += THREADS) {
    float4 charge = charges[i];
    float dx = charge.x - probe.x, dy = charge.y - probe.y, dz = charge.z - probe.z;
    sum += charge.w * rsqrtf(dx * dx + dy * dy + dz * dz + SOFTENING);
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) warp_sum[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warp_sum[threadIdx.x];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (threadIdx.x == 0) potential[blockIdx.x] = sum;
  }
}

static float coordinate(size_t i) { return float((unsigned(i) * 2654435761u) >> 11 & 0xffff) / 65536.f; }

static float4 charge_at(size_t i) { return make_float4(coordinate(3 * i), coordinate(3 * i + 1), coordinate(3 * i + 2), 0.001f * float(i % 9 + 1)); }

static float4 probe_at(size_t i) { return make_float4(coordinate(i + 11) + 1.f, coordinate(i + 500), coordinate(i + 900) - 1.f, 0.f); }

int main() {
  auto* charges = device_array<float4>(CHARGES, charge_at);
  auto* probes = device_array<float4>(PROBES, probe_at);
  auto* potential = device_zeros<float>(PROBES);
  launch_twice([&] { held_probe_potential<<<PROBES, THREADS>>>(charges, probes, potential); });
  bool ok = true;
  for (int p : {0, 130, PROBES - 1}) {
    float4 probe = probe_at(p);
    double expected = 0;
    for (int i = 0; i < CHARGES; ++i) {
      float4 charge = charge_at(i);
      double dx = double(charge.x) - probe.x, dy = double(charge.y) - probe.y, dz = double(charge.z) - probe.z;
      expected += charge.w / std::sqrt(dx * dx + dy * dy + dz * dz + SOFTENING);
    }
    ok = ok && close_to(peek(potential, p), expected);
  }
  return finish(ok);
}
