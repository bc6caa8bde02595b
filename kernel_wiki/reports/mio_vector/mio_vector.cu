// The cure of mio_scalar: a thread makes eight neighbouring filter outputs from a window of 12 inputs in registers, and refills it by one
// 16-byte shared load for four taps: 32 multiply-adds a load instruction instead of one. The FMA pipe should take the place of the queue.
#include "../evidence.cuh"

constexpr int TAPS = 128, THREADS = 256, POOL = 8, TILE = THREADS * POOL, QUADS = (TILE + TAPS) / 4;

struct Taps {
  float value[TAPS];  // a kernel parameter: constant operands of the FMAs, no load
};

// Where the quad (four floats) of number `quad` lies: even ones first, then odd ones, so that lanes two quads apart read without conflicts.
static __device__ int place(int quad) { return quad % 2 * (QUADS / 2) + quad / 2; }

static __device__ void put(float* window, float4 quad) {
  window[0] = quad.x;
  window[1] = quad.y;
  window[2] = quad.z;
  window[3] = quad.w;
}

// y[i] = largest of z[8 i] ... z[8 i + 7], where z[i] = sum over j of taps[j] * x[i + j].
__global__ __launch_bounds__(THREADS, 4) void mio_vector(const float4* __restrict__ x, float* __restrict__ y,
                                                         const __grid_constant__ Taps taps) {
  __shared__ float4 tile[QUADS];
  const size_t base = size_t(blockIdx.x) * (TILE / 4);
  for (int i = threadIdx.x; i < QUADS; i += THREADS) tile[place(i)] = x[base + i];
  __syncthreads();
  const float4* mine = tile + threadIdx.x;  // the thread's inputs start at quad 2 * threadIdx.x
  float window[POOL + 4], sum[POOL] = {};
  put(window, mine[place(0)]);
  put(window + 4, mine[place(1)]);
#pragma unroll
  for (int j = 0; j < TAPS; j += 4) {
    put(window + 8, mine[place(j / 4 + 2)]);
#pragma unroll
    for (int tap = 0; tap < 4; ++tap)
#pragma unroll
      for (int i = 0; i < POOL; ++i) sum[i] += taps.value[j + tap] * window[tap + i];
#pragma unroll
    for (int i = 0; i < POOL; ++i) window[i] = window[i + 4];
  }
  float largest = sum[0];
#pragma unroll
  for (int i = 1; i < POOL; ++i) largest = fmaxf(largest, sum[i]);
  y[size_t(blockIdx.x) * THREADS + threadIdx.x] = largest;
}

int main() {
  const size_t blocks = size_t(sm_count()) * 8 * 16;
  Taps taps;
  for (int j = 0; j < TAPS; ++j) taps.value[j] = 1.f + j % 5;
  auto value = [](size_t i) { return float(i % 11) + 1.f; };
  auto* x = device_array<float>(blocks * TILE + TAPS, value);
  auto* y = device_zeros<float>(blocks * TILE / POOL);
  launch_twice([&] { mio_vector<<<blocks, THREADS>>>(reinterpret_cast<const float4*>(x), y, taps); });
  float expected = 0;
  for (int i = 0; i < POOL; ++i) {
    float sum = 0;
    for (int j = 0; j < TAPS; ++j) sum += taps.value[j] * value(7777 * POOL + i + j);
    expected = std::max(expected, sum);
  }
  return finish(close_to(peek(y, 7777), expected));
}
