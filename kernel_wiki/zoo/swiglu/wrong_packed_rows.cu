// Wrong on purpose: rows are taken to be 2 * columns apart, whatever the stride of x says.
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

extern "C" __global__ void swiglu_packed(const Element* x, Element* y, int columns) {
    const Element* gates = x + 2ll * blockIdx.x * columns;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const float gate = widen(gates[i]), up = widen(gates[columns + i]);
        y[(long long)blockIdx.x * columns + i] = narrow(gate / (1.0f + expf(-gate)) * up);
    }
}
