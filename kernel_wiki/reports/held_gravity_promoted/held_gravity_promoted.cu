// All-pairs gravity of 16384 float bodies for a float result, with every intermediate in double "to be safe": float would be exact enough.
// 268 M pairs x 18 double instructions = 4.8 G on a pipe of 64 lanes an SM (16.7 T/s): 290 us of a run of about 320 us. The 0.3 MB
// of bodies and the 17 MB written are nothing, and the tile in shared memory is read as a broadcast.
#include "../evidence.cuh"

constexpr int BODIES = 16384, TILE = 256, CHUNKS = 64, CHUNK = BODIES / CHUNKS;
constexpr double SOFTENING = 1e-3;

struct Source {
  double x, y, z, mass;
};

__global__ __launch_bounds__(TILE) void held_gravity_promoted(const float4* __restrict__ bodies, float4* __restrict__ partial) {
  __shared__ Source tile[TILE];
  int i = blockIdx.x * TILE + threadIdx.x;
  float4 mine = bodies[i];
  double x = mine.x, y = mine.y, z = mine.z;
  double ax = 0.0, ay = 0.0, az = 0.0;
  for (int first = blockIdx.y * CHUNK; first < (blockIdx.y + 1) * CHUNK; first += TILE) {
    float4 other = bodies[first + threadIdx.x];
    __syncthreads();
    tile[threadIdx.x] = {other.x, other.y, other.z, other.w};
    __syncthreads();
#pragma unroll 4
    for (int j = 0; j < TILE; ++j) {
      double dx = tile[j].x - x, dy = tile[j].y - y, dz = tile[j].z - z;
      double inverse = rsqrt(dx * dx + dy * dy + dz * dz + SOFTENING);
      double pull = tile[j].mass * inverse * inverse * inverse;
      ax += pull * dx;
      ay += pull * dy;
      az += pull * dz;
    }
  }
  partial[size_t(blockIdx.y) * BODIES + i] = make_float4(float(ax), float(ay), float(az), 0.f);
}

static float coordinate(size_t i, unsigned axis) { return float((unsigned(i) * 2654435761u + axis * 40503u * 65537u) >> 8 & 0xffff) / 65536.f; }

static float4 body(size_t i) {
  return make_float4(coordinate(i, 1), coordinate(i * 3 + 1, 2), coordinate(i * 7 + 2, 3), 0.01f + float(i % 13) / 400.f);
}

int main() {
  auto* bodies = device_array<float4>(BODIES, body);
  auto* partial = device_zeros<float4>(size_t(CHUNKS) * BODIES);
  launch_twice([&] { held_gravity_promoted<<<dim3(BODIES / TILE, CHUNKS), TILE>>>(bodies, partial); });
  bool ok = true;
  for (int i : {0, 7777, BODIES - 1}) {
    int chunk = i % CHUNKS;
    float4 mine = body(i);
    double expected[3] = {};
    for (int j = chunk * CHUNK; j < (chunk + 1) * CHUNK; ++j) {
      float4 other = body(j);
      double dx = double(other.x) - mine.x, dy = double(other.y) - mine.y, dz = double(other.z) - mine.z;
      double r2 = dx * dx + dy * dy + dz * dz + SOFTENING;
      double pull = other.w / (r2 * std::sqrt(r2));
      expected[0] += pull * dx;
      expected[1] += pull * dy;
      expected[2] += pull * dz;
    }
    float4 got = peek(partial, size_t(chunk) * BODIES + i);
    ok = ok && close_to(got.x, expected[0]) && close_to(got.y, expected[1]) && close_to(got.z, expected[2]);
  }
  return finish(ok);
}
