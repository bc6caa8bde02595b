#include <cuda_fp16.h>
#include <cstdint>

namespace fast {
constexpr int BLOCK_M = 64, BLOCK_N = 64, BLOCK_K = 32, kStages = 3;

__device__ inline void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__global__ void __launch_bounds__(128) hgemm(const half* __restrict__ a, const half* __restrict__ b, float* __restrict__ c, int n, int k) {
  __shared__ half as[kStages][BLOCK_M * BLOCK_K], bs[kStages][BLOCK_K * BLOCK_N];
  float acc[2][4][4] = {};
  uint32_t fa[4], fb[2];
  for (int step = 0; step < k / BLOCK_K; ++step) {
    int chunk = threadIdx.x % 4, row = threadIdx.x / 4;
    uint32_t to = (uint32_t)__cvta_generic_to_shared(&as[step % kStages][row * BLOCK_K + (chunk ^ ((row >> 1) & 3)) * 8]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(to), "l"(a + row * k + step * BLOCK_K + chunk * 8));
    asm volatile("cp.async.commit_group;\n");
    asm volatile("cp.async.wait_group 1;\n");
    __syncthreads();
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3]) : "r"(to));
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) mma(acc[i][j], fa, fb);
  }
  reinterpret_cast<float4*>(c)[threadIdx.x] = make_float4(acc[0][0][0], acc[0][0][1], acc[0][0][2], acc[0][0][3]);
}
}  // namespace fast
