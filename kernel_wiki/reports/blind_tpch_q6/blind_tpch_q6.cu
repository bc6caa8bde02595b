// TPC-H query 6 over four columns of 24 Mi rows: revenue of the rows that pass three predicates, a partial sum a block. Nothing is wrong with it: every
// column is needed, is read once by 16-byte loads, eight of them in flight a thread. 384 MiB at 4.8 TB/s is 84 us; about 10 instructions
// a row use a fifth of the issue slots.
#include "../evidence.cuh"

constexpr int ROWS = 24 << 20, THREADS = 256, VECTORS = 2, BLOCKS = ROWS / (THREADS * VECTORS * 4);

__host__ __device__ inline unsigned revenue(int day, int discount, int quantity, int price) {
  return day >= 730 && day < 1095 && discount >= 5 && discount <= 7 && quantity < 24 ? unsigned(price * discount) : 0u;
}

__global__ void blind_tpch_q6(const int4* __restrict__ day, const int4* __restrict__ discount, const int4* __restrict__ quantity,
                              const int4* __restrict__ price, unsigned long long* __restrict__ partial) {
  int first = blockIdx.x * THREADS * VECTORS + threadIdx.x;
  int4 d[VECTORS], r[VECTORS], q[VECTORS], p[VECTORS];
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    d[v] = __ldcs(day + first + v * THREADS);
    r[v] = __ldcs(discount + first + v * THREADS);
    q[v] = __ldcs(quantity + first + v * THREADS);
    p[v] = __ldcs(price + first + v * THREADS);
  }
  unsigned sum = 0;  // eight products below 2^20
#pragma unroll
  for (int v = 0; v < VECTORS; ++v)
    sum += revenue(d[v].x, r[v].x, q[v].x, p[v].x) + revenue(d[v].y, r[v].y, q[v].y, p[v].y) + revenue(d[v].z, r[v].z, q[v].z, p[v].z) +
           revenue(d[v].w, r[v].w, q[v].w, p[v].w);
  __shared__ unsigned long long warps[THREADS / 32];
  unsigned total = __reduce_add_sync(~0u, sum);  // 256 products
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned long long block = 0;
    for (int w = 0; w < THREADS / 32; ++w) block += warps[w];
    partial[blockIdx.x] = block;
  }
}

static int day_of(size_t i) { return int(i * 7919 % 2557); }
static int discount_of(size_t i) { return int(i * 13 % 11); }
static int quantity_of(size_t i) { return int(i * 29 % 50) + 1; }
static int price_of(size_t i) { return int(i * 31 % 99991) + 900; }

int main() {
  auto* day = device_array<int>(ROWS, day_of);
  auto* discount = device_array<int>(ROWS, discount_of);
  auto* quantity = device_array<int>(ROWS, quantity_of);
  auto* price = device_array<int>(ROWS, price_of);
  auto* partial = device_zeros<unsigned long long>(BLOCKS);
  auto four = [](int* column) { return reinterpret_cast<const int4*>(column); };
  launch_twice([&] { blind_tpch_q6<<<BLOCKS, THREADS>>>(four(day), four(discount), four(quantity), four(price), partial); });
  bool ok = true;
  for (size_t block : {size_t(0), size_t(777), size_t(BLOCKS - 1)}) {
    unsigned long long sum = 0;
    for (size_t row = 0; row < THREADS * VECTORS * 4; ++row) {
      size_t i = (block * THREADS * VECTORS * 4 + row) % PATTERN;
      sum += revenue(day_of(i), discount_of(i), quantity_of(i), price_of(i));
    }
    ok = ok && sum > 0 && peek(partial, block) == sum;
  }
  return finish(ok);
}
