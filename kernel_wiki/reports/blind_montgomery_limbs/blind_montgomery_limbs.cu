// Montgomery products of 1024-bit numbers, one a thread (CIOS). The number of limbs is a run-time argument, so no loop unrolls fully, every
// limb array is indexed dynamically and lives in local memory: five accesses for two multiplications. 2^17 x 2048 x 2.5 / 32 = 21M warp accesses
// (159k cycles an SM at one a cycle), and 392 bytes x 992 threads = 390 kB an SM do not fit the L1. DRAM needs 50 MB (12 us).
#include "../evidence.cuh"

constexpr int MAX_LIMBS = 32, THREADS = 128, NUMBERS = 1 << 17;

struct Modulus {
  unsigned limb[MAX_LIMBS];
};

constexpr Modulus make_modulus() {
  Modulus m{};
  unsigned x = 2463534242u;
  for (int i = 0; i < MAX_LIMBS; ++i) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    m.limb[i] = x;
  }
  m.limb[0] |= 1;
  m.limb[MAX_LIMBS - 1] |= 0x80000000u;
  return m;
}

static __constant__ Modulus modulus = make_modulus();

// t = a b 2^(-32 limbs) mod m; a and b below m.
__host__ __device__ inline void multiply(const unsigned* a, const unsigned* b, const unsigned* m, unsigned inverse, unsigned* t, int limbs) {
  for (int j = 0; j < limbs + 2; ++j) t[j] = 0;
  for (int i = 0; i < limbs; ++i) {
    unsigned long long carry = 0;
    for (int j = 0; j < limbs; ++j) {
      carry += t[j] + static_cast<unsigned long long>(a[j]) * b[i];
      t[j] = unsigned(carry);
      carry >>= 32;
    }
    carry += t[limbs];
    t[limbs] = unsigned(carry);
    t[limbs + 1] = unsigned(carry >> 32);
    unsigned q = t[0] * inverse;
    carry = (t[0] + static_cast<unsigned long long>(q) * m[0]) >> 32;
    for (int j = 1; j < limbs; ++j) {
      carry += t[j] + static_cast<unsigned long long>(q) * m[j];
      t[j - 1] = unsigned(carry);
      carry >>= 32;
    }
    carry += t[limbs];
    t[limbs - 1] = unsigned(carry);
    t[limbs] = t[limbs + 1] + unsigned(carry >> 32);
  }
  bool reduce = t[limbs] != 0;
  if (!reduce) {
    int j = limbs - 1;
    while (j > 0 && t[j] == m[j]) --j;
    reduce = t[j] >= m[j];
  }
  long long borrow = 0;
  for (int j = 0; j < limbs; ++j) {
    borrow += static_cast<long long>(t[j]) - (reduce ? m[j] : 0u);
    t[j] = unsigned(borrow);
    borrow >>= 32;
  }
}

// Limb-major: limb i of number n at [i * NUMBERS + n].
__global__ __launch_bounds__(THREADS) void blind_montgomery_limbs(const unsigned* __restrict__ x, const unsigned* __restrict__ y,
                                                                  unsigned* __restrict__ z, unsigned inverse, int limbs) {
  unsigned a[MAX_LIMBS], b[MAX_LIMBS], t[MAX_LIMBS + 2];
  int n = blockIdx.x * THREADS + threadIdx.x;
  for (int i = 0; i < limbs; ++i) {
    a[i] = x[size_t(i) * NUMBERS + n];
    b[i] = y[size_t(i) * NUMBERS + n];
  }
  multiply(a, b, modulus.limb, inverse, t, limbs);
  for (int i = 0; i < limbs; ++i) z[size_t(i) * NUMBERS + n] = t[i];
}

// Limb i of number n; the top limb stays below the modulus's, whose top bit is set. 2^20 elements are eight limbs, so the pattern repeats there.
static unsigned value(size_t at, unsigned seed) {
  unsigned hash = (unsigned(at) + seed) * 2654435761u;
  return (hash ^ hash >> 15) & 0x7fffffffu;
}

int main() {
  constexpr Modulus m = make_modulus();
  unsigned inverse = 1;  // of -m mod 2^32, by Newton
  for (int i = 0; i < 5; ++i) inverse *= 2 - m.limb[0] * inverse;
  inverse = 0u - inverse;
  auto* x = device_array<unsigned>(size_t(MAX_LIMBS) * NUMBERS, [](size_t i) { return value(i, 7); });
  auto* y = device_array<unsigned>(size_t(MAX_LIMBS) * NUMBERS, [](size_t i) { return value(i, 77777); });
  auto* z = device_zeros<unsigned>(size_t(MAX_LIMBS) * NUMBERS);
  launch_twice([&] { blind_montgomery_limbs<<<NUMBERS / THREADS, THREADS>>>(x, y, z, inverse, MAX_LIMBS); });
  bool ok = true;
  for (int n : {3, 70001, NUMBERS - 1}) {
    unsigned a[MAX_LIMBS], b[MAX_LIMBS], t[MAX_LIMBS + 2];
    for (int i = 0; i < MAX_LIMBS; ++i) {
      size_t at = (size_t(i) * NUMBERS + n) % PATTERN;
      a[i] = value(at, 7);
      b[i] = value(at, 77777);
    }
    multiply(a, b, m.limb, inverse, t, MAX_LIMBS);
    for (int i = 0; i < MAX_LIMBS; ++i) ok = ok && peek(z, size_t(i) * NUMBERS + n) == t[i];
  }
  return finish(ok);
}
