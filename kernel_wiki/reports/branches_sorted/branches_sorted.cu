// The cure of divergent_branches: the host sorts the items by length once, longest first, and the kernel gets the lengths in that order
// with each item's place. The lanes of a warp then end together: 141 trips a warp on average in place of 2,048.
#include "../evidence.cuh"

#include <numeric>

constexpr int THREADS = 256;

__global__ void branches_sorted(const int* __restrict__ sorted_length, const int* __restrict__ place, float* __restrict__ y) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float a = 1.f;
  int steps = sorted_length[i];
#pragma unroll 1
  for (int step = 0; step < steps; ++step) a = a * 0.5f + 1.f;
  y[place[i]] = a;
}

static int length_of(int i) { return i % 32 == 5 ? 2048 : 64 + i % 32; }

template <typename F>
static int* device_copy(size_t count, F value) {
  std::vector<int> host(count);
  for (size_t i = 0; i < count; ++i) host[i] = value(i);
  int* device = device_memory<int>(count);
  CUDA_CHECK(cudaMemcpy(device, host.data(), count * sizeof(int), cudaMemcpyHostToDevice));
  return device;
}

int main() {
  size_t count = size_t(sm_count()) * 8 * THREADS * 8;
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [](int a, int b) { return length_of(a) > length_of(b); });
  auto* length = device_copy(count, [&](size_t i) { return length_of(order[i]); });
  auto* place = device_copy(count, [&](size_t i) { return order[i]; });
  auto* y = device_zeros<float>(count);
  launch_twice([&] { branches_sorted<<<count / THREADS, THREADS>>>(length, place, y); });
  return finish(close_to(peek(y, 4321), 2.0));
}
