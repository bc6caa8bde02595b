// A packet pipeline's producers: each thread turns headers into descriptors and publishes them one by one, a device-wide fence between the
// descriptor and its sequence number. Every fence waits until the stores before it are acknowledged (~1000 cycles and more with 8 warps an SM):
// 128 fences = 130k cycles or more, 70 us and up, where 36 bytes a packet (156 MB) take 35 us and headers are loaded two ahead. One fence for all would do.
#include "../evidence.cuh"

constexpr int THREADS = 256, PRODUCERS = 132 * THREADS, SLOTS = 128;

__host__ __device__ inline uint4 describe(uint4 header) {
  unsigned hash = header.x * 0x9e3779b1u ^ header.y * 0x85ebca77u ^ header.z * 0xc2b2ae3du;
  hash ^= hash >> 15;
  unsigned length = header.w & 0xffff, queue = hash & 63;
  return {hash, queue << 16 | length, header.x ^ header.y, header.w >> 16};
}

// Slot-major, so that a warp's producers write side by side.
__global__ __launch_bounds__(THREADS) void blind_ring_publish(const uint4* __restrict__ headers, uint4* __restrict__ ring, volatile unsigned* sequence) {
  size_t at = size_t(blockIdx.x) * THREADS + threadIdx.x;
  uint4 next = headers[at], after = headers[at + PRODUCERS];
  for (int slot = 0; slot < SLOTS; ++slot, at += PRODUCERS) {
    uint4 header = next;
    next = after;
    if (slot + 2 < SLOTS) after = headers[at + 2 * size_t(PRODUCERS)];
    ring[at] = describe(header);
    __threadfence();
    sequence[at] = slot + 1;
  }
}

static uint4 header_at(size_t i) {
  unsigned x = unsigned(i) * 2654435761u;
  return {x ^ x >> 13, x * 31 + 7, unsigned(i) << 16 | (x & 0xffff), (x >> 8 & 255) << 16 | (64 + (x >> 3 & 1023))};
}

int main() {
  size_t count = size_t(PRODUCERS) * SLOTS;
  auto* headers = device_array<uint4>(count, header_at);
  auto* ring = device_zeros<uint4>(count);
  auto* sequence = device_zeros<unsigned>(count);
  launch_twice([&] { blind_ring_publish<<<PRODUCERS / THREADS, THREADS>>>(headers, ring, sequence); });
  bool ok = true;
  for (size_t at : {size_t(11), size_t(50) * PRODUCERS + 20000, count - 1}) {
    uint4 got = peek(ring, at), expected = describe(header_at(at % PATTERN));
    ok = ok && got.x == expected.x && got.y == expected.y && got.z == expected.z && got.w == expected.w;
    ok = ok && peek(sequence, at) == at / PRODUCERS + 1;
  }
  return finish(ok);
}
