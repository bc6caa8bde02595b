// What every evidence program shares: allocation, a host-side fill (no kernel, so that the profiler's launch numbers stay simple),
// two launches of the kernel under study, and one spot check.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(call)                                                                          \
  do {                                                                                            \
    cudaError_t status_ = (call);                                                                 \
    if (status_ != cudaSuccess) {                                                                 \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));       \
      std::exit(1);                                                                               \
    }                                                                                             \
  } while (0)

// Values repeat after this many elements: enough that caches see no constant, cheap to make on the host.
constexpr size_t PATTERN = size_t(1) << 20;

// A device array of `count` elements where element i is value(i % PATTERN).
template <typename T, typename F>
T* device_array(size_t count, F value) {
  std::vector<T> host(std::min(count, PATTERN));
  for (size_t i = 0; i < host.size(); ++i) host[i] = value(i);
  T* device = nullptr;
  CUDA_CHECK(cudaMalloc(&device, count * sizeof(T)));
  for (size_t at = 0; at < count; at += host.size())
    CUDA_CHECK(cudaMemcpy(device + at, host.data(), std::min(host.size(), count - at) * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

// A device array of zeros.
template <typename T>
T* device_zeros(size_t count) {
  T* device = nullptr;
  CUDA_CHECK(cudaMalloc(&device, count * sizeof(T)));
  CUDA_CHECK(cudaMemset(device, 0, count * sizeof(T)));
  return device;
}

template <typename T>
T peek(const T* device, size_t index) {
  T value;
  CUDA_CHECK(cudaMemcpy(&value, device + index, sizeof(T), cudaMemcpyDeviceToHost));
  return value;
}

inline int sm_count() {
  int count = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  return count;
}

// Launches twice: the first launch pays for module loading and cold caches, the profiler looks at the second.
template <typename F>
void launch_twice(F launch) {
  for (int i = 0; i < 2; ++i) {
    launch();
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
  }
}

inline bool close_to(double got, double expected, double tolerance = 1e-3) {
  return std::fabs(got - expected) <= tolerance * std::max(1.0, std::fabs(expected));
}

inline int finish(bool correct) {
  std::puts(correct ? "OK" : "MISMATCH");
  return correct ? 0 : 1;
}
