// Wrong on purpose: the end of the next segment is loaded ahead, and for the last segment that is one offset too many.
// The value is never used there. Defines: DTYPE (0 float32, 1 bfloat16, 2 float16).

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

__device__ int fetch(const int* from) {
    int value;
    asm volatile("ld.global.s32 %0, [%1];" : "=r"(value) : "l"(from));
    return value;
}

extern "C" __global__ void segment_sum_ahead(const Element* values, const int* offsets, Element* y, int cols, int segments,
                                             long long pitch) {
    const int first = blockIdx.x * 4;
    int begin = fetch(offsets + first), stop = fetch(offsets + first + 1);
    for (int segment = first; segment < min(first + 4, segments); ++segment) {
        const int next = fetch(offsets + segment + 2);
        for (int col = threadIdx.x; col < cols; col += blockDim.x) {
            double sum = 0.0;
            for (int row = begin; row < stop; ++row) sum += widen(values[row * pitch + col]);
            y[(long long)segment * cols + col] = narrow(static_cast<float>(sum));
        }
        begin = stop;
        stop = next;
    }
}
