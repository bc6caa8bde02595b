// Dropout with Philox4x32-10: four random words for four elements, generated in registers, so no mask is stored. 32.5 M floats are read and
// written once (260 MB, 60 us at 90 % of HBM); some 25 instructions an element fill about half of the issue slots and hide under the traffic.
#include "../evidence.cuh"

constexpr size_t COUNT = 31 * PATTERN;
constexpr int THREADS = 256, ROUNDS = 10;
constexpr unsigned SEED = 20240607, DROPPED = 429496730;  // a tenth of 2^32
constexpr float SCALE = 1.f / 0.9f;

struct Words {
  unsigned at[4];
};

static __host__ __device__ __forceinline__ Words philox(unsigned counter) {
  Words c = {{counter, 0, 7, 0}};
  unsigned low_key = SEED, high_key = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    unsigned long long first = 0xD2511F53ull * c.at[0], second = 0xCD9E8D57ull * c.at[2];
    c = {{unsigned(second >> 32) ^ c.at[1] ^ low_key, unsigned(second), unsigned(first >> 32) ^ c.at[3] ^ high_key, unsigned(first)}};
    low_key += 0x9E3779B9u;
    high_key += 0xBB67AE85u;
  }
  return c;
}

__global__ __launch_bounds__(THREADS) void held_dropout_philox(const float4* __restrict__ x, float4* __restrict__ y) {
  unsigned i = blockIdx.x * THREADS + threadIdx.x;
  float4 v = x[i];
  Words random = philox(i);
  v.x = random.at[0] < DROPPED ? 0.f : v.x * SCALE;
  v.y = random.at[1] < DROPPED ? 0.f : v.y * SCALE;
  v.z = random.at[2] < DROPPED ? 0.f : v.z * SCALE;
  v.w = random.at[3] < DROPPED ? 0.f : v.w * SCALE;
  y[i] = v;
}

int main() {
  auto value = [](size_t i) { return 1.f + float(i % 7919) / 7919.f; };
  auto* x = device_array<float>(COUNT, value);
  auto* y = device_zeros<float>(COUNT);
  launch_twice([&] {
    held_dropout_philox<<<COUNT / 4 / THREADS, THREADS>>>(reinterpret_cast<const float4*>(x), reinterpret_cast<float4*>(y));
  });
  std::vector<float> head(4096);
  size_t from = COUNT - head.size(), zeros = 0;
  CUDA_CHECK(cudaMemcpy(head.data(), y + from, head.size() * sizeof(float), cudaMemcpyDeviceToHost));
  bool ok = true;
  for (size_t i = 0; i < head.size(); ++i) {
    bool dropped = philox(unsigned((from + i) / 4)).at[(from + i) % 4] < DROPPED;
    zeros += dropped;
    ok = ok && close_to(head[i], dropped ? 0.f : value((from + i) % PATTERN) * SCALE);
  }
  return finish(ok && zeros > 300 && zeros < 520);
}
