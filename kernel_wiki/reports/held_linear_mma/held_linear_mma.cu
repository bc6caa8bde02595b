// A bf16 linear layer on mma.sync with tiles of 64 x 64 x 32, one buffer and two barriers a step: load, wait, 16 mma a warp, wait. A tile brings
// 32 FLOP a byte from the L2, so 5.5 TB/s of it feed at most 180 of 990 TFLOP/s, and nothing is in flight while a block multiplies. 34 GFLOP in
// about 0.3 ms: the tensor pipe is idle more than three cycles in four. The tiles are swizzled and free of bank conflicts.
#include <cuda_bf16.h>

#include "../evidence.cuh"

constexpr int M = 4096, N = 4096, K = 1024, TILE = 64, DEPTH = 32, THREADS = 128;

// Where 16-byte chunk `chunk` of row `row` of a [TILE][DEPTH] tile lies, in elements.
static __device__ __forceinline__ int swizzled(int row, int chunk) { return row * DEPTH + (chunk ^ (row / 2 % 4)) * 8; }

static __device__ __forceinline__ void load_matrices(unsigned (&to)[4], const __nv_bfloat16* from) {
  unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(from));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

static __device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__global__ __launch_bounds__(THREADS, 5) void held_linear_mma(const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ w,
                                                           float* __restrict__ y) {
  __shared__ __align__(128) __nv_bfloat16 x_tile[TILE * DEPTH], w_tile[TILE * DEPTH];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;
  int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
  float sum[2][4][4] = {};
#pragma unroll 1
  for (int k = 0; k < K; k += DEPTH) {
#pragma unroll
    for (int half = 0; half < TILE; half += TILE / 2) {  // 32 rows of four 16-byte chunks
      int r = half + threadIdx.x / 4, chunk = threadIdx.x % 4;
      *reinterpret_cast<uint4*>(x_tile + swizzled(r, chunk)) = *reinterpret_cast<const uint4*>(x + size_t(row + r) * K + k + chunk * 8);
      *reinterpret_cast<uint4*>(w_tile + swizzled(r, chunk)) = *reinterpret_cast<const uint4*>(w + size_t(column + r) * K + k + chunk * 8);
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < DEPTH / 8; step += 2) {
      unsigned a[2][4], b[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        load_matrices(a[i], x_tile + swizzled(warp_row + i * 16 + lane % 16, step + lane / 16));
        load_matrices(b[i], w_tile + swizzled(warp_column + i * 16 + lane / 16 * 8 + lane % 8, step + lane / 8 % 2));
      }
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) multiply(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float* corner = y + size_t(row + warp_row + i * 16 + lane / 4) * N + column + warp_column + j * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(corner) = make_float2(sum[i][j][0], sum[i][j][1]);
      *reinterpret_cast<float2*>(corner + 8 * N) = make_float2(sum[i][j][2], sum[i][j][3]);
    }
}

int main() {
  auto left = [](size_t i) { return __float2bfloat16(float(i * 13 % 1009) / 1009.f - 0.4f); };
  auto right = [](size_t i) { return __float2bfloat16(float(i * 7 % 919) / 919.f - 0.6f); };
  auto* x = device_array<__nv_bfloat16>(size_t(M) * K, left);
  auto* w = device_array<__nv_bfloat16>(size_t(N) * K, right);  // [output][input], as a linear layer keeps it
  auto* y = device_zeros<float>(size_t(M) * N);
  launch_twice([&] { held_linear_mma<<<dim3(N / TILE, M / TILE), THREADS>>>(x, w, y); });
  bool ok = true;
  for (size_t row : {0, 45, 2222, 4095})
    for (size_t column : {0, 1023, 3333, 4095}) {
      double expected = 0;
      for (size_t k = 0; k < K; ++k)
        expected += double(__bfloat162float(left((row * K + k) % PATTERN))) * __bfloat162float(right((column * K + k) % PATTERN));
      ok = ok && close_to(peek(y, row * N + column), expected, 2e-3);
    }
  return finish(ok);
}
