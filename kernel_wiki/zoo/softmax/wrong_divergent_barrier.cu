// Wrong on purpose: two barriers stand inside `if (threadIdx.x < cols)`, where threads without a column never come; these wait at the last
// one meanwhile, which the hardware takes for their arrival at the first.
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

constexpr int THREADS = 256;

extern "C" __global__ void __launch_bounds__(THREADS) softmax_divergent(const Element* x, Element* y, long long stride, int cols) {
    __shared__ float tops[THREADS], sums[THREADS];
    x += blockIdx.x * stride;
    y += (long long)blockIdx.x * cols;
    const int active = cols < THREADS ? cols : THREADS;
    if (threadIdx.x < cols) {
        float top = -INFINITY, sum = 0.0f;
        for (int col = threadIdx.x; col < cols; col += THREADS) top = fmaxf(top, widen(x[col]));
        tops[threadIdx.x] = top;
        __syncthreads();
        for (int i = 0; i < active; ++i) top = fmaxf(top, tops[i]);
        for (int col = threadIdx.x; col < cols; col += THREADS) sum += expf(widen(x[col]) - top);
        sums[threadIdx.x] = sum;
        __syncthreads();
        sum = 0.0f;
        for (int i = 0; i < active; ++i) sum += sums[i];
        for (int col = threadIdx.x; col < cols; col += THREADS) y[col] = narrow(expf(widen(x[col]) - top) / sum);
    }
    __syncthreads();
}
