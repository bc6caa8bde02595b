// Blank logits of a transducer's joint network: for 16 utterances of 1056 frames and 64 labels, the sum over 512 units of
// w tanh(encoder + predictor). Nothing is wrong with it: one MUFU.TANH a term is the least there is, 554 M of them are 150 us at 16 a
// clock and SM; tiles of 32 x 64 in shared memory, 2 x 4 logits a thread, 7 shared loads for 8 tanh, all 528 blocks resident, four an SM.
#include "../evidence.cuh"

constexpr int UTTERANCES = 16, FRAMES = 1056, LABELS = 64, UNITS = 512, TILE = 32, DEPTH = 32, THREADS = 256;

static float encoder_of(size_t i) {
  return float((i * 2654435761u >> 7) % 997) * 0.003f - 1.5f;
}

static float predictor_of(size_t i) {
  return float((i * 2246822519u >> 9) % 809) * 0.003f - 1.1f;
}

static float weight_of(size_t i) {
  return float(i * 29 % 67) * 0.002f - 0.06f;
}

__device__ __forceinline__ float fast_tanh(float v) {
  float result;
  asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(v));
  return result;
}

__global__ __launch_bounds__(THREADS) void blind_transducer_joint(const float* __restrict__ encoder, const float* __restrict__ predictor,
                                                                  const float* __restrict__ weights, float* __restrict__ logits) {
  __shared__ float frames[TILE][DEPTH + 1], labels[LABELS][DEPTH + 1], w[DEPTH];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, x = threadIdx.x % 16, y = threadIdx.x / 16;
  size_t first = size_t(blockIdx.y) * FRAMES + blockIdx.x * TILE;  // of the block's rows of `encoder` and `logits`
  float sum[2][4] = {};
  for (int unit = 0; unit < UNITS; unit += DEPTH) {
    __syncthreads();
#pragma unroll
    for (int r = 0; r < TILE; r += THREADS / 32) frames[r + warp][lane] = encoder[(first + r + warp) * UNITS + unit + lane];
#pragma unroll
    for (int r = 0; r < LABELS; r += THREADS / 32)
      labels[r + warp][lane] = predictor[(size_t(blockIdx.y) * LABELS + r + warp) * UNITS + unit + lane];
    if (warp == 0) w[lane] = weights[unit + lane];
    __syncthreads();
#pragma unroll 8
    for (int d = 0; d < DEPTH; ++d) {
      float e[2] = {frames[y][d], frames[y + 16][d]}, p[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) p[j] = labels[x + 16 * j][d];
      float factor = w[d];
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] = fmaf(factor, fast_tanh(e[i] + p[j]), sum[i][j]);
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) logits[(first + y + 16 * i) * LABELS + x + 16 * j] = sum[i][j];
}

int main() {
  static_assert(FRAMES % TILE == 0, "whole tiles");
  auto* encoder = device_array<float>(size_t(UTTERANCES) * FRAMES * UNITS, encoder_of);
  auto* predictor = device_array<float>(size_t(UTTERANCES) * LABELS * UNITS, predictor_of);
  auto* weights = device_array<float>(UNITS, weight_of);
  auto* logits = device_zeros<float>(size_t(UTTERANCES) * FRAMES * LABELS);
  launch_twice([&] { blind_transducer_joint<<<dim3(FRAMES / TILE, UTTERANCES), THREADS>>>(encoder, predictor, weights, logits); });
  bool ok = true;
  for (int utterance : {0, 7, UTTERANCES - 1})
    for (int frame : {0, 531, FRAMES - 1})
      for (int label : {0, 37, LABELS - 1}) {
        double expected = 0;
        size_t row = size_t(utterance) * FRAMES + frame;
        for (int d = 0; d < UNITS; ++d)
          expected += double(weight_of(d)) * std::tanh(double(encoder_of((row * UNITS + d) % PATTERN)) +
                                                       predictor_of(((size_t(utterance) * LABELS + label) * UNITS + d) % PATTERN));
        ok = ok && close_to(peek(logits, row * LABELS + label), expected, 5e-3);
      }
  return finish(ok);
}
