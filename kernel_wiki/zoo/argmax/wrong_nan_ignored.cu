// Wrong on purpose: `value > best` is false for NaN, so that NaN is passed over. Everything else is right, ties and -inf among it.
// Defines: BF16 (1: x is bfloat16, else float32).

constexpr int THREADS = 256;

#if BF16
typedef unsigned short Element;  // bits of a bfloat16
__device__ float widen(Element value) { return __uint_as_float(static_cast<unsigned>(value) << 16); }
#else
typedef float Element;
__device__ float widen(Element value) { return value; }
#endif

extern "C" __global__ void __launch_bounds__(THREADS) argmax_without_nan(const Element* x, long long* y, long long cols, long long pitch) {
    __shared__ float values[THREADS];
    __shared__ long long places[THREADS];
    x += blockIdx.x * pitch;
    float best = -INFINITY;
    long long place = threadIdx.x < cols ? threadIdx.x : cols;  // its first element, also where that is -inf
    for (long long col = threadIdx.x; col < cols; col += THREADS) {
        const float value = widen(x[col]);
        if (value > best) {
            best = value;
            place = col;
        }
    }
    values[threadIdx.x] = best;
    places[threadIdx.x] = place;
    __syncthreads();
    for (int apart = THREADS / 2; apart > 0; apart /= 2) {
        if (threadIdx.x < apart) {
            const float other = values[threadIdx.x + apart];
            const long long there = places[threadIdx.x + apart];
            if (other > values[threadIdx.x] || (other == values[threadIdx.x] && there < places[threadIdx.x])) {
                values[threadIdx.x] = other;
                places[threadIdx.x] = there;
            }
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = places[0];
}
