// Energy spectrum of 32 M detector hits: a block adds each hit's energy to one of 1024 channels in shared memory. Three hits in four fall
// into the pedestal channel, so an atomic of a warp meets about 24 lanes at one address, one after the other: 7900 such instructions an SM
// x 24 turns or more = 100 to 200 us, for 128 MB read (28 us).
#include "../evidence.cuh"

constexpr int HITS = 1 << 25, CHANNELS = 1024, PEDESTAL = 37, THREADS = 512, BLOCKS_PER_SM = 4;

__global__ __launch_bounds__(THREADS) void held_energy_spectrum(const uint4* __restrict__ hits, unsigned* __restrict__ spectra) {
  __shared__ unsigned spectrum[CHANNELS];
  for (int c = threadIdx.x; c < CHANNELS; c += THREADS) spectrum[c] = 0;
  __syncthreads();
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < HITS / 4; i += gridDim.x * THREADS) {
    uint4 four = hits[i];
    atomicAdd(&spectrum[four.x % CHANNELS], four.x / CHANNELS);
    atomicAdd(&spectrum[four.y % CHANNELS], four.y / CHANNELS);
    atomicAdd(&spectrum[four.z % CHANNELS], four.z / CHANNELS);
    atomicAdd(&spectrum[four.w % CHANNELS], four.w / CHANNELS);
  }
  __syncthreads();
  for (int c = threadIdx.x; c < CHANNELS; c += THREADS) spectra[size_t(blockIdx.x) * CHANNELS + c] = spectrum[c];
}

// Channel in the low 10 bits, energy of 1 to 4096 above them.
static unsigned hit(size_t i) {
  unsigned mixed = unsigned(i) * 2654435761u;
  mixed ^= mixed >> 15;
  mixed *= 2246822519u;
  mixed ^= mixed >> 13;
  unsigned channel = (mixed & 3) != 0 ? PEDESTAL : mixed >> 2 & (CHANNELS - 1);
  return (1 + (mixed >> 20)) * CHANNELS + channel;
}

static uint4 four_hits(size_t i) { return make_uint4(hit(4 * i), hit(4 * i + 1), hit(4 * i + 2), hit(4 * i + 3)); }

int main() {
  int blocks = sm_count() * BLOCKS_PER_SM;
  auto* hits = device_array<uint4>(HITS / 4, four_hits);
  auto* spectra = device_zeros<unsigned>(size_t(blocks) * CHANNELS);
  launch_twice([&] { held_energy_spectrum<<<blocks, THREADS>>>(hits, spectra); });
  int block = 11;
  std::vector<unsigned> expected(CHANNELS);
  for (size_t first = size_t(block) * THREADS; first < HITS / 4; first += size_t(blocks) * THREADS)
    for (size_t i = first; i < first + THREADS && i < HITS / 4; ++i)
      for (int part = 0; part < 4; ++part) {
        unsigned one = hit(4 * (i % PATTERN) + part);
        expected[one % CHANNELS] += one / CHANNELS;
      }
  bool ok = true;
  for (int c : {0, PEDESTAL, 500, CHANNELS - 1}) ok = ok && peek(spectra, size_t(block) * CHANNELS + c) == expected[c];
  return finish(ok);
}
