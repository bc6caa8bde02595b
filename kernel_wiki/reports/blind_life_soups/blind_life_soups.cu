// A census of random soups: every thread runs the game of life on its own torus of 32 x 16 cells for 128 generations, a word a row, all in registers.
// Nothing is wrong with it: 12 logic instructions (two rotations, ten LOP3) update 32 cells. 132 * 1024 threads * 128 * 16 * 12 = 3.3e9
// at 64 a cycle an SM are 200 us of the integer pipe, half of the issue slots; 17 MB of memory traffic take 4 us.
#include "../evidence.cuh"

constexpr int THREADS = 256, BLOCKS_PER_SM = 4, ROWS = 16, GENERATIONS = 128;

struct RowSum {
  unsigned one, two;  // cells of three columns, counted bitwise
};

// A logic function of three words by its truth table: the compiler left alone spends 14 LOP3 a row.
template <int TABLE>
__device__ inline unsigned logic(unsigned a, unsigned b, unsigned c) {
  unsigned result;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(result) : "r"(a), "r"(b), "r"(c), "n"(TABLE));
  return result;
}

__device__ inline unsigned parity(unsigned a, unsigned b, unsigned c) { return logic<0x96>(a, b, c); }
__device__ inline unsigned majority(unsigned a, unsigned b, unsigned c) { return logic<0xe8>(a, b, c); }
__device__ inline unsigned rotated(unsigned row, int by) { return __funnelshift_l(row, row, by); }

__device__ inline RowSum three(unsigned row) {
  unsigned left = rotated(row, 1), right = rotated(row, 31);
  return {parity(left, row, right), majority(left, row, right)};
}

__device__ inline unsigned next(RowSum above, unsigned row, RowSum below) {
  unsigned left = rotated(row, 1), right = rotated(row, 31), one = left ^ right, two = left & right;
  unsigned odd = parity(above.one, one, below.one), carry = majority(above.one, one, below.one);
  unsigned twos = parity(above.two, two, below.two), four = majority(above.two, two, below.two);
  return ((twos ^ carry) & ~four) & (odd | row);
}

__device__ inline void generation(unsigned (&row)[ROWS]) {
  RowSum first = three(row[0]), above = three(row[ROWS - 1]), here = first;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    RowSum below = r + 1 < ROWS ? three(row[r + 1]) : first;
    row[r] = next(above, row[r], below);
    above = here;
    here = below;
  }
}

__global__ __launch_bounds__(THREADS, BLOCKS_PER_SM) void blind_life_soups(const unsigned* __restrict__ soup, unsigned* __restrict__ ash, int soups) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  unsigned row[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) row[r] = soup[size_t(r) * soups + i];
#pragma unroll 1
  for (int g = 0; g < GENERATIONS; ++g) generation(row);
#pragma unroll
  for (int r = 0; r < ROWS; ++r) ash[size_t(r) * soups + i] = row[r];
}

static unsigned word(size_t i) {
  unsigned x = unsigned(i + 1) * 2654435761u;
  x = (x ^ (x >> 15)) * 0x85ebca6bu;
  return x ^ (x >> 13);
}

// Cell by cell, as the rule is written.
static bool check(const unsigned* ash, size_t soups, size_t soup) {
  std::vector<char> cells(ROWS * 32), later(ROWS * 32);
  for (int r = 0; r < ROWS; ++r)
    for (int c = 0; c < 32; ++c) cells[r * 32 + c] = word((r * soups + soup) % PATTERN) >> c & 1;
  for (int g = 0; g < GENERATIONS; ++g) {
    for (int r = 0; r < ROWS; ++r)
      for (int c = 0; c < 32; ++c) {
        int around = 0;
        for (int dr = 31; dr <= 33; ++dr)
          for (int dc = 31; dc <= 33; ++dc) around += cells[(r + dr) % ROWS * 32 + (c + dc) % 32];
        around -= cells[r * 32 + c];
        later[r * 32 + c] = around == 3 || (around == 2 && cells[r * 32 + c]);
      }
    cells.swap(later);
  }
  bool ok = true;
  for (int r = 0; r < ROWS; ++r) {
    unsigned row = peek(ash, r * soups + soup);
    for (int c = 0; c < 32; ++c) ok = ok && char(row >> c & 1) == cells[r * 32 + c];
  }
  return ok;
}

int main() {
  int blocks = sm_count() * BLOCKS_PER_SM, soups = blocks * THREADS;
  auto* soup = device_array<unsigned>(size_t(soups) * ROWS, word);
  auto* ash = device_zeros<unsigned>(size_t(soups) * ROWS);
  launch_twice([&] { blind_life_soups<<<blocks, THREADS>>>(soup, ash, soups); });
  return finish(check(ash, soups, 4321) && check(ash, soups, soups - 1));
}
