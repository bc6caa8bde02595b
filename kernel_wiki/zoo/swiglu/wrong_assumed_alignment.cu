// Wrong on purpose: 16-byte accesses wherever the row length allows them. Where x starts was never asked.
// Defines: DTYPE (0 float32, 1 bfloat16, 2 float16), WIDTH (elements in one access: 16 bytes, or 1).

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

struct alignas(WIDTH * sizeof(Element)) Access {
    Element value[WIDTH];
};

extern "C" __global__ void swiglu_assuming(const Element* x, Element* y, long long pitch, int columns) {
    const Access* gates = reinterpret_cast<const Access*>(x + blockIdx.x * pitch);
    const Access* ups = reinterpret_cast<const Access*>(x + blockIdx.x * pitch + columns);
    Access* out = reinterpret_cast<Access*>(y + (long long)blockIdx.x * columns);
    for (int i = threadIdx.x; i < columns / WIDTH; i += blockDim.x) {
        const Access gate = gates[i], up = ups[i];
        Access product;
#pragma unroll
        for (int e = 0; e < WIDTH; ++e) {
            const float g = widen(gate.value[e]);
            product.value[e] = narrow(g / (1.0f + expf(-g)) * widen(up.value[e]));
        }
        out[i] = product;
    }
}
