// The radial filter of a molecular network: a weighted sum of 128 Gaussians at equal distances, each by an exponential of its own (a
// recurrence needs three for all of them). 4.2 M edges make 537 M MUFU operations, 128 us at 16 a cycle and SM; the 34 MB take 8 us, and the
// four other instructions to a MUFU fill half of the issue slots.
#include "../evidence.cuh"

constexpr int EDGES = 1 << 22, CENTRES = 128, THREADS = 256, EACH = 4;
constexpr float SPACING = 10.f / CENTRES, SHARPNESS = 3.f;  // exponent in powers of two: -(SHARPNESS (d - centre))^2

static __device__ __forceinline__ float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__global__ void held_radial_basis(const float4* __restrict__ distance, const float* __restrict__ weight, float4* __restrict__ filter) {
  __shared__ float weights[CENTRES];
  if (threadIdx.x < CENTRES) weights[threadIdx.x] = weight[threadIdx.x];
  int i = blockIdx.x * THREADS + threadIdx.x;
  float4 d = distance[i];
  float at[EACH] = {d.x * SHARPNESS, d.y * SHARPNESS, d.z * SHARPNESS, d.w * SHARPNESS}, sum[EACH] = {};
  __syncthreads();
#pragma unroll 8
  for (int k = 0; k < CENTRES; ++k) {
    float w = weights[k];
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
      float offset = at[e] - k * (SPACING * SHARPNESS);
      sum[e] += w * power_of_two(-offset * offset);
    }
  }
  filter[i] = make_float4(sum[0], sum[1], sum[2], sum[3]);
}

int main() {
  auto d = [](size_t i) { return 10.f * float(i % 99991) / 99991.f; };
  auto w = [](size_t i) { return float(i * 29 % 67) / 67.f - 0.25f; };
  auto* distance = device_array<float>(EDGES, d);
  auto* weight = device_array<float>(CENTRES, w);
  auto* filter = device_zeros<float>(EDGES);
  launch_twice([&] {
    held_radial_basis<<<EDGES / EACH / THREADS, THREADS>>>(reinterpret_cast<const float4*>(distance), weight,
                                                            reinterpret_cast<float4*>(filter));
  });
  bool ok = true;
  for (size_t i : {0, 5001, 2000003, EDGES - 1}) {
    double expected = 0;
    for (int k = 0; k < CENTRES; ++k) {
      double offset = SHARPNESS * (double(d(i % PATTERN)) - k * double(SPACING));
      expected += w(k) * std::exp2(-offset * offset);
    }
    ok = ok && close_to(peek(filter, i), expected, 2e-3);
  }
  return finish(ok);
}
