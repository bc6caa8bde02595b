// Wrong on purpose: rows are added four at a time, and the up to three rows that are left over at the end of a segment are forgotten.
// Defines: DTYPE (0 float32, 1 bfloat16, 2 float16).

#if DTYPE == 0
typedef float Element;
__device__ float widen(Element value) { return value; }
__device__ Element narrow(float value) { return value; }
#else
typedef unsigned short Element;  // bits of a 16-bit float
__device__ float widen(Element value) {
#if DTYPE == 1
    return __uint_as_float(static_cast<unsigned>(value) << 16);
#else
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value));
    return wide;
#endif
}
__device__ Element narrow(float value) {
    Element bits;
#if DTYPE == 1
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#endif
    return bits;
}
#endif

extern "C" __global__ void segment_sum_by_four(const Element* values, const int* offsets, Element* y, int cols, long long pitch) {
    const int begin = offsets[blockIdx.x], stop = offsets[blockIdx.x + 1];
    for (int col = threadIdx.x; col < cols; col += blockDim.x) {
        float sums[4] = {};
        for (int row = begin; row + 4 <= stop; row += 4) {
            const Element* from = values + row * pitch + col;
#pragma unroll
            for (int k = 0; k < 4; ++k) sums[k] += widen(from[k * pitch]);
        }
        y[(long long)blockIdx.x * cols + col] = narrow((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
}
