// Edit distance of 262144 strings of 40 letters to one query: a thread per string, the row of the table in a local array. The query's length is
// only known at run time, so the row stays in local memory: a load and a store for each of 419 M cells. 164 B x 2048 threads = 336 kB an SM do not
// fit the L1 and much of the 3.4 GB goes to the L2 and back: 300 to 600 us, for 140 us of issue slots and 10 MB of strings.
#include "../evidence.cuh"

constexpr int STRINGS = 1 << 18, LETTERS = 40, THREADS = 256;

// Four letters a word, the first in the low byte; the length is a multiple of four.
struct Query {
  int length;
  unsigned four[LETTERS / 4];
};

__global__ __launch_bounds__(THREADS) void held_edit_distance(const unsigned char* __restrict__ letters,
                                                              const __grid_constant__ Query query, int* __restrict__ distance) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  int row[LETTERS + 1];
  for (int j = 0; j <= query.length; ++j) row[j] = j;
  for (int at = 0; at < LETTERS; ++at) {
    int letter = letters[size_t(at) * STRINGS + i];
    int diagonal = row[0];
    int left = at + 1;
    row[0] = left;
    for (int j = 0; j < query.length; j += 4) {
      unsigned four = query.four[j / 4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        int up = row[j + k + 1];
        left = min(min(left, up) + 1, diagonal + (int(four >> 8 * k & 0xff) != letter));
        diagonal = up;
        row[j + k + 1] = left;
      }
    }
  }
  distance[i] = row[query.length];
}

static unsigned char letter(size_t i) {
  unsigned mixed = unsigned(i) * 2654435761u;
  return "ACGT"[(mixed ^ mixed >> 15) >> 9 & 3];
}

static int query_letter(int j) { return "ACGT"[(j * j + j / 3) % 4]; }

int main() {
  Query query{LETTERS, {}};
  for (int j = 0; j < LETTERS; ++j) query.four[j / 4] |= unsigned(query_letter(j)) << 8 * (j % 4);
  auto* letters = device_array<unsigned char>(size_t(STRINGS) * LETTERS, letter);
  auto* distance = device_zeros<int>(STRINGS);
  launch_twice([&] { held_edit_distance<<<STRINGS / THREADS, THREADS>>>(letters, query, distance); });
  bool ok = true;
  for (int i : {0, 12345, 200001, STRINGS - 1}) {
    std::vector<int> row(LETTERS + 1);
    for (int j = 0; j <= LETTERS; ++j) row[j] = j;
    for (int at = 0; at < LETTERS; ++at) {
      int one = letter((size_t(at) * STRINGS + i) % PATTERN), diagonal = row[0];
      row[0] = at + 1;
      for (int j = 0; j < LETTERS; ++j) {
        int up = row[j + 1];
        row[j + 1] = std::min(std::min(row[j], up) + 1, diagonal + (query_letter(j) != one));
        diagonal = up;
      }
    }
    ok = ok && peek(distance, i) == row[LETTERS];
  }
  return finish(ok);
}
