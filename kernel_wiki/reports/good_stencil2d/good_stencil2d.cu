// A Jacobi step of a Poisson problem, fp32: a 128x32 tile with its halo in shared memory, the source term straight to registers before the
// barrier. Two arrays of 100 MB read, one written; the halo rows (6 %) come from the L2. DRAM bandwidth alone.
#include "../evidence.cuh"

constexpr int WIDTH = 128, HEIGHT = 32, THREADS = 256, LANES = WIDTH / 4, BANDS = THREADS / LANES, ROWS_A_THREAD = HEIGHT / BANDS;
constexpr int LEFT = 8, PITCH = WIDTH + 2 * LEFT;  // the halo columns lie just before and after an interior of whole sectors
constexpr int COLUMNS = 4096, STRIDE = COLUMNS + 2 * LEFT;  // rows of the grid carry a border of their own

static __device__ float4 load4(const float* p) { return *reinterpret_cast<const float4*>(p); }

__global__ __launch_bounds__(THREADS) void good_stencil2d(const float* __restrict__ u, const float* __restrict__ f, float* __restrict__ v) {
  __shared__ __align__(16) float tile[HEIGHT + 2][PITCH];
  const int lane = threadIdx.x % LANES, band = threadIdx.x / LANES, column = LEFT + lane * 4;
  const size_t corner = size_t(blockIdx.y) * HEIGHT * STRIDE + blockIdx.x * WIDTH;  // of the tile, one row above and LEFT columns before
  float4 source[ROWS_A_THREAD];
#pragma unroll
  for (int i = 0; i < ROWS_A_THREAD; ++i) source[i] = load4(&f[corner + size_t(band + i * BANDS + 1) * STRIDE + column]);
#pragma unroll
  for (int row = band; row < HEIGHT + 2; row += BANDS)
    *reinterpret_cast<float4*>(&tile[row][column]) = load4(&u[corner + size_t(row) * STRIDE + column]);
  if (threadIdx.x < 2 * HEIGHT) {
    const int row = 1 + threadIdx.x / 2, edge = threadIdx.x % 2 ? LEFT + WIDTH : LEFT - 1;
    tile[row][edge] = u[corner + size_t(row) * STRIDE + edge];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ROWS_A_THREAD; ++i) {
    const int row = band + i * BANDS + 1;
    const float4 up = load4(&tile[row - 1][column]), down = load4(&tile[row + 1][column]), here = load4(&tile[row][column]);
    const float before = tile[row][column - 1], after = tile[row][column + 4];
    const float4 next = make_float4(0.25f * (up.x + down.x + before + here.y + source[i].x), 0.25f * (up.y + down.y + here.x + here.z + source[i].y),
                                    0.25f * (up.z + down.z + here.y + here.w + source[i].z), 0.25f * (up.w + down.w + here.z + after + source[i].w));
    *reinterpret_cast<float4*>(&v[corner + size_t(row) * STRIDE + column]) = next;
  }
}

int main() {
  const int bands = sm_count() * 46 / 32, rows = bands * HEIGHT + 2;
  const size_t count = size_t(rows) * STRIDE;
  auto* u = device_array<float>(count, [](size_t i) { return float(i % 127) * 0.5f; });
  auto* f = device_array<float>(count, [](size_t i) { return float(i % 31) * 0.25f; });
  auto* v = device_zeros<float>(count);
  launch_twice([&] { good_stencil2d<<<dim3(COLUMNS / WIDTH, bands), THREADS>>>(u, f, v); });
  bool same = true;
  for (int column : {LEFT, LEFT + 127, LEFT + 128, 2050, LEFT + COLUMNS - 1})
    for (int row : {1, 32, 33, 2047, rows - 2}) {
      const size_t at = size_t(row) * STRIDE + column;
      same &= close_to(peek(v, at), 0.25 * (peek(u, at - STRIDE) + peek(u, at + STRIDE) + peek(u, at - 1) + peek(u, at + 1) + peek(f, at)));
    }
  return finish(same);
}
