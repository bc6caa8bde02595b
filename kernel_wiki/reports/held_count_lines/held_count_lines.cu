// Counts the line ends in a text of 415 MB: 16-byte loads, four a thread in flight, bytes compared four at a time within a word, one number a block.
// Nothing is wrong: every byte is read once and 5 or 6 integer instructions a word (a third of the ALU) hide behind DRAM; about 90 us.
#include "../evidence.cuh"

constexpr int THREADS = 256, BLOCKS_PER_SM = 8, PER_THREAD = 4, TILE = THREADS * PER_THREAD, TILES = 24 * 132 * BLOCKS_PER_SM;
constexpr size_t VECTORS = size_t(TILES) * TILE;
constexpr unsigned LINE_END = 0x0a0a0a0au, LOW = 0x7f7f7f7fu;

// The number of bytes of the word that are a line end: the top bit of a byte of `other` stays clear only where the byte is zero.
__device__ inline int line_ends(unsigned word) {
  unsigned difference = word ^ LINE_END;
  unsigned other = ((difference & LOW) + LOW) | difference;
  return __popc(~other & ~LOW);
}

__global__ __launch_bounds__(THREADS) void held_count_lines(const uint4* __restrict__ text, unsigned* __restrict__ counts) {
  __shared__ unsigned warp_count[THREADS / 32];
  unsigned count = 0;
  for (int tile = blockIdx.x; tile < TILES; tile += gridDim.x) {
    uint4 four[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) four[k] = text[size_t(tile) * TILE + k * THREADS + threadIdx.x];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) count += line_ends(four[k].x) + line_ends(four[k].y) + line_ends(four[k].z) + line_ends(four[k].w);
  }
  count = __reduce_add_sync(0xffffffffu, count);
  if (threadIdx.x % 32 == 0) warp_count[threadIdx.x / 32] = count;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned total = 0;
    for (unsigned one : warp_count) total += one;
    counts[blockIdx.x] = total;
  }
}

static unsigned word(size_t i) {
  unsigned mixed = unsigned(i) * 2654435761u;
  mixed ^= mixed >> 15;
  unsigned letters = 0x20202020u + (mixed & 0x3f3f3f3fu);
  return mixed % 9 == 0 ? (letters & ~(0xffu << (mixed >> 27 & 24))) | 0x0au << (mixed >> 27 & 24) : letters;
}

static uint4 four_words(size_t i) { return make_uint4(word(4 * i), word(4 * i + 1), word(4 * i + 2), word(4 * i + 3)); }

static unsigned lines_in(unsigned word) {
  unsigned lines = 0;
  for (int at = 0; at < 32; at += 8) lines += (word >> at & 0xff) == 0x0a;
  return lines;
}

int main() {
  int blocks = sm_count() * BLOCKS_PER_SM;
  auto* text = device_array<uint4>(VECTORS, four_words);
  auto* counts = device_zeros<unsigned>(blocks);
  launch_twice([&] { held_count_lines<<<blocks, THREADS>>>(text, counts); });
  bool ok = true;
  for (int block : {0, blocks - 1}) {
    unsigned expected = 0;
    for (int tile = block; tile < TILES; tile += blocks)
      for (size_t i = size_t(tile) * TILE; i < size_t(tile + 1) * TILE; ++i)
        for (int part = 0; part < 4; ++part) expected += lines_in(word(4 * (i % PATTERN) + part));
    ok = ok && peek(counts, block) == expected && expected > 0;
  }
  return finish(ok);
}
