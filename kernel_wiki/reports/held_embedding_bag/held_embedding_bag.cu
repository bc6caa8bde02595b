// The mean embedding of 2048 bags of ids, a block a bag: most hold 16 to 63 ids, six hold 2048. A block takes 4 rows at a time, and each is two
// dependent loads (the id, then its row) with nothing else in flight, about 0.9 us. So a long bag takes 0.4 ms, while all the short ones (83 MB)
// are through after some 40 us: the device waits for six SMs, and these wait for memory.
#include "../evidence.cuh"

constexpr int BAGS = 2048, TABLE = 131072, LANES = 64, GROUPS = 4, LONG = 2048;  // 64 lanes of a float4: 256 channels

__global__ __launch_bounds__(LANES * GROUPS) void held_embedding_bag(const float4* __restrict__ table, const int* __restrict__ ids,
                                                                     const int* __restrict__ start, float4* __restrict__ mean) {
  __shared__ float4 partial[GROUPS][LANES];
  int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
  int begin = start[blockIdx.x], end = start[blockIdx.x + 1];
  float4 sum = make_float4(0.f, 0.f, 0.f, 0.f);
#pragma unroll 1
  for (int i = begin + group; i < end; i += GROUPS) {
    float4 x = table[size_t(ids[i]) * LANES + lane];
    sum.x += x.x;
    sum.y += x.y;
    sum.z += x.z;
    sum.w += x.w;
  }
  partial[group][lane] = sum;
  __syncthreads();
  if (group) return;
  for (int g = 1; g < GROUPS; ++g) {
    float4 other = partial[g][lane];
    sum.x += other.x;
    sum.y += other.y;
    sum.z += other.z;
    sum.w += other.w;
  }
  float scale = 1.f / (end - begin);
  mean[blockIdx.x * LANES + lane] = make_float4(sum.x * scale, sum.y * scale, sum.z * scale, sum.w * scale);
}

int main() {
  std::vector<int> begins(BAGS + 1, 0);
  for (int i = 0; i < BAGS; ++i) begins[i + 1] = begins[i] + (i % 341 == 100 ? LONG : 16 + i * 37 % 48);
  auto x = [](size_t i) { return float(i % 4093) / 4093.f; };
  auto id = [](size_t i) { return int(i * 2654435761u % 4294967291u % TABLE); };
  auto* table = device_array<float>(size_t(TABLE) * LANES * 4, x);
  auto* ids = device_array<int>(begins[BAGS], id);
  auto* start = device_array<int>(begins.size(), [&](size_t i) { return begins[i]; });
  auto* mean = device_zeros<float>(size_t(BAGS) * LANES * 4);
  launch_twice([&] {
    held_embedding_bag<<<BAGS, LANES * GROUPS>>>(reinterpret_cast<const float4*>(table), ids, start, reinterpret_cast<float4*>(mean));
  });
  bool ok = true;
  for (size_t bag : {0, 100, 1001, 1805, 2047})
    for (size_t channel : {0, 130, 255}) {
      double sum = 0;
      for (size_t i = begins[bag]; i < size_t(begins[bag + 1]); ++i) sum += x((size_t(id(i)) * LANES * 4 + channel) % PATTERN);
      double expected = sum / (begins[bag + 1] - begins[bag]);
      ok = ok && close_to(peek(mean, bag * LANES * 4 + channel), expected);
    }
  return finish(ok);
}
