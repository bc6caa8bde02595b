// Sparse x dense (32 right-hand sides), a warp a row of 16 non-zeros. The dense rows carry a pitch of 33 floats, a habit from shared memory:
// 7 of 8 of the 128-byte rows start off a sector boundary and take 5 sectors (two cache lines, mostly three 64-byte DRAM bursts) instead of 4.
// Columns are random in 330 MB, so the extra sector is hardly ever used by anyone: 2.1 M rows x 160 B = 335 MB (400 by bursts) for 268 MB.
#include "../evidence.cuh"

constexpr int ROWS = 1 << 17, COLUMNS = 2500000, NONZEROS = 16, WIDTH = 32, PITCH = WIDTH + 1, WARPS = 8;

__global__ void held_spmm_pitch33(const int* __restrict__ column_of, const float* __restrict__ value_of, const float* __restrict__ dense,
                                  float* __restrict__ product) {
  int lane = threadIdx.x % 32;
  int row = blockIdx.x * WARPS + threadIdx.x / 32;
  size_t mine = size_t(row) * NONZEROS + lane % NONZEROS;
  int column = column_of[mine];
  float value = value_of[mine];
  float sum = 0.f;
#pragma unroll
  for (int k = 0; k < NONZEROS; ++k)
    sum += __shfl_sync(0xffffffffu, value, k) * dense[size_t(__shfl_sync(0xffffffffu, column, k)) * PITCH + lane];
  product[size_t(row) * PITCH + lane] = sum;
}

static int column(size_t i) {
  unsigned mixed = unsigned(i) * 2654435761u;
  mixed ^= mixed >> 16;
  mixed *= 2246822519u;
  mixed ^= mixed >> 13;
  return int(mixed % COLUMNS);
}

static float value(size_t i) { return 0.25f + float(i % 7) / 8.f; }

static float entry(size_t i) { return float((i * 37) % 1009) / 1009.f; }

int main() {
  // The pattern of 2^20 would repeat the columns of one half in the other, and give them back from the L2.
  std::vector<int> host(size_t(ROWS) * NONZEROS);
  for (size_t i = 0; i < host.size(); ++i) host[i] = column(i);
  auto* column_of = device_memory<int>(host.size());
  CUDA_CHECK(cudaMemcpy(column_of, host.data(), host.size() * sizeof(int), cudaMemcpyHostToDevice));
  auto* value_of = device_array<float>(host.size(), value);
  auto* dense = device_array<float>(size_t(COLUMNS) * PITCH, entry);
  auto* product = device_zeros<float>(size_t(ROWS) * PITCH);
  launch_twice([&] { held_spmm_pitch33<<<ROWS / WARPS, WARPS * 32>>>(column_of, value_of, dense, product); });
  bool ok = true;
  for (int row : {0, 4099, ROWS - 1})
    for (int lane : {0, 17, 31}) {
      double expected = 0;
      for (int k = 0; k < NONZEROS; ++k) {
        size_t at = size_t(row) * NONZEROS + k;
        expected += double(value(at % PATTERN)) * entry((size_t(host[at]) * PITCH + lane) % PATTERN);
      }
      ok = ok && close_to(peek(product, size_t(row) * PITCH + lane), expected);
    }
  return finish(ok);
}
