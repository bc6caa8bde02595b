// Fingerprints of 8 KiB pages for deduplication, a warp a page and a block a warp: 32 blocks fill an SM at 32 of 64 warps. Each lane asks
// for its next word only after hashing the last, so an SM has 32 x 128 B = 4 KiB in flight where 4.8 TB/s needs some 15 KiB: about a
// quarter of the bandwidth, all warps waiting for memory.
#include "../evidence.cuh"

constexpr int PAGE_WORDS = 2048, PAGES = 24576;
constexpr unsigned FULL = 0xffffffffu;

__host__ __device__ static unsigned mix(unsigned hash, unsigned word) {
  hash += word * 3266489917u;
  return (hash << 17 | hash >> 15) * 668265263u;
}

__global__ void held_page_fingerprint(const unsigned* __restrict__ pages, unsigned* __restrict__ prints) {
  const unsigned* page = pages + size_t(blockIdx.x) * PAGE_WORDS;
  unsigned hash = threadIdx.x;
#pragma unroll 1
  for (int word = threadIdx.x; word < PAGE_WORDS; word += 32) hash = mix(hash, page[word]);
  for (int step = 16; step > 0; step /= 2) hash = mix(hash, __shfl_down_sync(FULL, hash, step));
  if (threadIdx.x == 0) prints[blockIdx.x] = hash;
}

int main() {
  auto word_at = [](size_t i) { return unsigned(i) * 2246822519u ^ unsigned(i >> 7); };
  auto* pages = device_array<unsigned>(size_t(PAGES) * PAGE_WORDS, word_at);
  auto* prints = device_zeros<unsigned>(PAGES);
  launch_twice([&] { held_page_fingerprint<<<PAGES, 32>>>(pages, prints); });
  bool ok = true;
  for (int page : {0, 1234, PAGES - 1}) {
    unsigned lanes[32];
    for (int lane = 0; lane < 32; ++lane) {
      lanes[lane] = lane;
      for (int word = lane; word < PAGE_WORDS; word += 32) lanes[lane] = mix(lanes[lane], word_at((size_t(page) * PAGE_WORDS + word) % PATTERN));
    }
    for (int step = 16; step > 0; step /= 2)
      for (int lane = 0; lane < step; ++lane) lanes[lane] = mix(lanes[lane], lanes[lane + step]);
    ok = ok && peek(prints, page) == lanes[0];
  }
  return finish(ok);
}
