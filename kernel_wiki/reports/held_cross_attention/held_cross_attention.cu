// Cross attention to 128 memory tokens, a thread a query with its query and output rows (64 + 64 floats) as registers, under a launch bound
// that leaves 64. Most of both rows live in local memory: for each key 90 loads and 68 stores of 128 bytes a warp beside 220
// arithmetic instructions (55 cycles of the four pipes), and four blocks spill 0.3 MB an SM, more than the L1 holds.
#include "../evidence.cuh"

constexpr int HEADS = 66, QUERIES = 2048, KEYS = 128, DIM = 64, THREADS = 256, TILE = 32;

__global__ __launch_bounds__(THREADS, 4) void held_cross_attention(const float* __restrict__ query, const float* __restrict__ key,
                                                                   const float* __restrict__ value, float* __restrict__ out) {
  __shared__ float4 key_tile[TILE * DIM / 4], value_tile[TILE * DIM / 4];
  size_t row = size_t(blockIdx.y) * QUERIES + blockIdx.x * THREADS + threadIdx.x;
  auto* keys = reinterpret_cast<const float4*>(key + size_t(blockIdx.y) * KEYS * DIM);
  auto* values = reinterpret_cast<const float4*>(value + size_t(blockIdx.y) * KEYS * DIM);
  auto* q_row = reinterpret_cast<const float4*>(query + row * DIM);
  float4 q[DIM / 4], sum[DIM / 4];
#pragma unroll
  for (int d = 0; d < DIM / 4; ++d) {
    q[d] = q_row[d];
    sum[d] = make_float4(0.f, 0.f, 0.f, 0.f);
  }
  float peak = -INFINITY, total = 0.f;
  for (int tile = 0; tile < KEYS; tile += TILE) {
    __syncthreads();
    for (int i = threadIdx.x; i < TILE * DIM / 4; i += THREADS) {
      key_tile[i] = keys[tile * DIM / 4 + i];
      value_tile[i] = values[tile * DIM / 4 + i];
    }
    __syncthreads();
#pragma unroll 1
    for (int j = 0; j < TILE; ++j) {
      float score = 0.f;
#pragma unroll
      for (int d = 0; d < DIM / 4; ++d) {
        float4 k = key_tile[j * (DIM / 4) + d];
        score += q[d].x * k.x + q[d].y * k.y + q[d].z * k.z + q[d].w * k.w;
      }
      score *= 0.125f;
      float higher = fmaxf(peak, score);
      float keep = __expf(peak - higher), weight = __expf(score - higher);
      peak = higher;
      total = total * keep + weight;
#pragma unroll
      for (int d = 0; d < DIM / 4; ++d) {
        float4 v = value_tile[j * (DIM / 4) + d];
        sum[d].x = sum[d].x * keep + weight * v.x;
        sum[d].y = sum[d].y * keep + weight * v.y;
        sum[d].z = sum[d].z * keep + weight * v.z;
        sum[d].w = sum[d].w * keep + weight * v.w;
      }
    }
  }
  auto* out_row = reinterpret_cast<float4*>(out + row * DIM);
  float scale = 1.f / total;
#pragma unroll
  for (int d = 0; d < DIM / 4; ++d)
    out_row[d] = make_float4(sum[d].x * scale, sum[d].y * scale, sum[d].z * scale, sum[d].w * scale);
}

int main() {
  auto q = [](size_t i) { return float(i % 919) / 460.f - 1.f; };
  auto k = [](size_t i) { return float(i * 31 % 1013) / 500.f - 1.f; };
  auto v = [](size_t i) { return float(i * 17 % 1021) / 1021.f; };
  auto* query = device_array<float>(size_t(HEADS) * QUERIES * DIM, q);
  auto* key = device_array<float>(size_t(HEADS) * KEYS * DIM, k);
  auto* value = device_array<float>(size_t(HEADS) * KEYS * DIM, v);
  auto* out = device_zeros<float>(size_t(HEADS) * QUERIES * DIM);
  launch_twice([&] { held_cross_attention<<<dim3(QUERIES / THREADS, HEADS), THREADS>>>(query, key, value, out); });
  bool ok = true;
  for (size_t head : {0, 33, 65})
    for (size_t row : {0, 1234, 2047}) {
      double total = 0, sum = 0;
      for (size_t j = 0; j < KEYS; ++j) {
        double score = 0;
        for (size_t d = 0; d < DIM; ++d)
          score += double(q(((head * QUERIES + row) * DIM + d) % PATTERN)) * k(((head * KEYS + j) * DIM + d) % PATTERN);
        double weight = std::exp(score * 0.125);
        total += weight;
        sum += weight * v(((head * KEYS + j) * DIM + 19) % PATTERN);
      }
      ok = ok && close_to(peek(out, (head * QUERIES + row) * DIM + 19), sum / total);
    }
  return finish(ok);
}
