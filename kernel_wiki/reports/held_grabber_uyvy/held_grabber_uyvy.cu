// Converts UYVY frames to RGBA while they still lie in the frame grabber's pinned host memory: the loads are wide and
// coalesced, but all 33 MB of them cross PCIe (some 50 GB/s, so 650 us), while DRAM takes the 66 MB of results in 15 us. A copy ahead of
// time, overlapped with the work on the frame before, would leave the kernel 20 us.
#include "../evidence.cuh"

constexpr int FRAMES = 8, WIDTH = 1920, HEIGHT = 1080, THREADS = 256;
constexpr size_t QUADS = size_t(FRAMES) * WIDTH * HEIGHT / 8;  // of 16 bytes: 8 pixels

__host__ __device__ static unsigned clamped(float x) { return unsigned(fminf(fmaxf(x, 0.f), 255.f) + 0.5f); }

// One RGBA pixel (BT.709, full range).
__host__ __device__ static unsigned rgba(unsigned luma, unsigned u, unsigned v) {
  float y = float(luma), cb = float(u) - 128.f, cr = float(v) - 128.f;
  return clamped(y + 1.5748f * cr) | clamped(y - 0.1873f * cb - 0.4681f * cr) << 8 | clamped(y + 1.8556f * cb) << 16 | 0xff000000u;
}

__global__ __launch_bounds__(THREADS) void held_grabber_uyvy(const uint4* __restrict__ frames, uint4* __restrict__ out) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  uint4 four = frames[i];
  unsigned words[4] = {four.x, four.y, four.z, four.w}, pixels[8];
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    unsigned u = words[w] & 255, v = words[w] >> 16 & 255;
    pixels[2 * w] = rgba(words[w] >> 8 & 255, u, v);
    pixels[2 * w + 1] = rgba(words[w] >> 24, u, v);
  }
  out[2 * i] = make_uint4(pixels[0], pixels[1], pixels[2], pixels[3]);
  out[2 * i + 1] = make_uint4(pixels[4], pixels[5], pixels[6], pixels[7]);
}

int main() {
  uint4* frames = nullptr;
  CUDA_CHECK(cudaHostAlloc(&frames, QUADS * sizeof(uint4), cudaHostAllocMapped));
  auto* bytes = reinterpret_cast<unsigned char*>(frames);
  for (size_t i = 0; i < QUADS * 16; ++i) bytes[i] = (unsigned char)(16 + (i * 37 + (i >> 9)) % 220);
  uint4* mapped = nullptr;
  CUDA_CHECK(cudaHostGetDevicePointer(&mapped, frames, 0));
  auto* out = device_zeros<unsigned>(QUADS * 8);
  launch_twice([&] { held_grabber_uyvy<<<QUADS / THREADS, THREADS>>>(mapped, reinterpret_cast<uint4*>(out)); });
  bool ok = true;
  for (size_t pixel : {size_t(0), size_t(1234567), QUADS * 8 - 1}) {
    const unsigned char* group = bytes + pixel / 2 * 4;
    unsigned got = peek(out, pixel), expected = rgba(group[1 + pixel % 2 * 2], group[0], group[2]);
    for (int shift = 0; shift < 32; shift += 8)  // contracted multiply-adds may round a value the other way
      ok = ok && std::abs(int(got >> shift & 255) - int(expected >> shift & 255)) <= 1;
  }
  CUDA_CHECK(cudaFreeHost(frames));
  return finish(ok);
}
