// Sums of rows whose lengths follow a power law, one block a row: 4,224 rows in four whole waves, but the longest holds 3.4 % of all
// elements, 4.5 times an SM's fair share, and its one block draws on a fraction of an SM. Most SMs finish early and wait for a few rows.
#include "../evidence.cuh"

constexpr int THREADS = 256;
constexpr size_t TOTAL = size_t(1) << 23;  // float4: 128 MiB
constexpr double EXPONENT = 0.75;

struct Piece {  // float4 elements [begin, end) of a row
  int row, begin, end;
};

// Rows with lengths proportional to rank^-EXPONENT, the ranks scattered over the rows: the longest is in the middle.
static std::vector<Piece> power_law_rows(int rows) {
  double scale = 0;
  for (int i = 0; i < rows; ++i) scale += std::pow(i + 1., -EXPONENT);
  std::vector<Piece> pieces(rows);
  int at = 0;
  for (int row = 0; row < rows; ++row) {
    int length = int(TOTAL / scale * std::pow(size_t(row + rows / 2) * 1103 % rows + 1., -EXPONENT));
    pieces[row] = {row, at, at + length};
    at += length;
  }
  return pieces;
}

// y[row] += sum of the elements of the block's piece.
__global__ __launch_bounds__(THREADS, 8) void uneven_blocks(const float4* __restrict__ x, const Piece* __restrict__ pieces,
                                                            float* __restrict__ y) {
  __shared__ float part[THREADS / 32];
  const Piece piece = pieces[blockIdx.x];
  float sum = 0.f;
#pragma unroll 4
  for (int i = piece.begin + threadIdx.x; i < piece.end; i += THREADS) {
    float4 v = x[i];
    sum += v.x + v.y + v.z + v.w;
  }
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < THREADS / 32 ? part[threadIdx.x] : 0.f;
    for (int step = THREADS / 64; step; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (threadIdx.x == 0) atomicAdd(&y[piece.row], sum);
  }
}

int main() {
  const int rows = sm_count() * 8 * 4;
  const auto host = power_law_rows(rows);
  auto* pieces = device_array<Piece>(host.size(), [&](size_t i) { return host[i]; });
  auto* x = device_array<float4>(TOTAL, [](size_t i) { return make_float4(1.f, i % 2 * 2.f, 0.5f, 0.5f); });  // 3 on average
  auto* y = device_zeros<float>(rows);
  launch_twice([&] { uneven_blocks<<<host.size(), THREADS>>>(x, pieces, y); });
  auto right = [&](int row) { return close_to(peek(y, row), 2 * 3. * (host[row].end - host[row].begin)); };  // two launches
  return finish(right(rows / 2) && right(77));
}
