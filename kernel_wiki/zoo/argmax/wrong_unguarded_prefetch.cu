// Wrong on purpose: each thread loads its next element while it works on the present one, and does so behind the end of the row as well.
// The value loaded there is never used. Defines: BF16 (1: x is bfloat16, else float32).

#if BF16
typedef unsigned short Element;  // bits of a bfloat16
#else
typedef float Element;
#endif

__device__ unsigned fetch(const Element* from) {
#if BF16
    unsigned short bits;
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(bits) : "l"(from));
    return static_cast<unsigned>(bits) << 16;
#else
    unsigned bits;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(bits) : "l"(from));
    return bits;
#endif
}

// As argmax orders: NaN on top, -0.0 level with 0.0.
__device__ unsigned ordered(unsigned bits) {
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0xffffffffu;
    if (bits == 0x80000000u) bits = 0u;
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// One warp a row.
extern "C" __global__ void argmax_prefetching(const Element* x, long long* y, long long cols, long long pitch) {
    x += blockIdx.x * pitch;
    unsigned best = 0u;
    long long place = cols;
    unsigned next = threadIdx.x < cols ? fetch(x + threadIdx.x) : 0u;
    for (long long col = threadIdx.x; col < cols; col += 32) {
        const unsigned value = ordered(next);
        next = fetch(x + col + 32);
        if (value > best) {
            best = value;
            place = col;
        }
    }
    for (int apart = 16; apart > 0; apart /= 2) {
        const unsigned other = __shfl_xor_sync(0xffffffffu, best, apart);
        const long long there = __shfl_xor_sync(0xffffffffu, place, apart);
        if (other > best || (other == best && there < place)) {
            best = other;
            place = there;
        }
    }
    if (threadIdx.x == 0) y[blockIdx.x] = place;
}
