// What every evidence program shares: allocation, a host-side fill (no kernel, so that the profiler sees the kernel under study alone),
// launches of that kernel, and one spot check. Everything here has internal linkage: the programs are also loaded into one process.
#pragma once

#include <cuda_profiler_api.h>
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
constexpr int TIMED_LAUNCHES = 21;

// Allocations to give back at the end: several programs may share a process.
static std::vector<void*> allocations;

template <typename T>
static T* device_memory(size_t count) {
  T* device = nullptr;
  CUDA_CHECK(cudaMalloc(&device, count * sizeof(T)));
  allocations.push_back(device);
  return device;
}

// A device array of `count` elements where element i is value(i % PATTERN).
template <typename T, typename F>
static T* device_array(size_t count, F value) {
  std::vector<T> host(std::min(count, PATTERN));
  for (size_t i = 0; i < host.size(); ++i) host[i] = value(i);
  T* device = device_memory<T>(count);
  for (size_t at = 0; at < count; at += host.size())
    CUDA_CHECK(cudaMemcpy(device + at, host.data(), std::min(host.size(), count - at) * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

// A device array of zeros.
template <typename T>
static T* device_zeros(size_t count) {
  T* device = device_memory<T>(count);
  CUDA_CHECK(cudaMemset(device, 0, count * sizeof(T)));
  return device;
}

template <typename T>
static T peek(const T* device, size_t index) {
  T value;
  CUDA_CHECK(cudaMemcpy(&value, device + index, sizeof(T), cudaMemcpyDeviceToHost));
  return value;
}

[[maybe_unused]] static int sm_count() {
  int count = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  return count;
}

static void finished(cudaError_t launched) {
  CUDA_CHECK(launched);
  CUDA_CHECK(cudaDeviceSynchronize());
}

// The median time of a launch by events, back to back and therefore with warm caches.
template <typename F>
static float median_us(F launch) {
  cudaEvent_t marks[TIMED_LAUNCHES + 1];
  for (auto& mark : marks) CUDA_CHECK(cudaEventCreate(&mark));
  CUDA_CHECK(cudaEventRecord(marks[0]));
  for (int i = 0; i < TIMED_LAUNCHES; ++i) {
    launch();
    CUDA_CHECK(cudaEventRecord(marks[i + 1]));
  }
  finished(cudaGetLastError());
  std::vector<float> times(TIMED_LAUNCHES);
  for (int i = 0; i < TIMED_LAUNCHES; ++i) CUDA_CHECK(cudaEventElapsedTime(&times[i], marks[i], marks[i + 1]));
  for (auto& mark : marks) CUDA_CHECK(cudaEventDestroy(mark));
  std::nth_element(times.begin(), times.begin() + TIMED_LAUNCHES / 2, times.end());
  return times[TIMED_LAUNCHES / 2] * 1000;
}

// Launches twice: the first launch pays for module loading and cold caches, the profiler looks at the second. `launch` must issue one
// launch of the kernel. With EVIDENCE_TIME in the environment it is timed as well, and the result afterwards is of no interest; `work`
// is what `whole` (where the cure changes the number of launches: all of them) does, in the unit that its twin counts in.
template <typename F, typename W>
static void launch_twice(F launch, W whole, double work = 1) {
  launch();
  finished(cudaGetLastError());
  CUDA_CHECK(cudaProfilerStart());
  launch();
  finished(cudaGetLastError());
  CUDA_CHECK(cudaProfilerStop());
  if (std::getenv("EVIDENCE_TIME")) std::printf("TIME %.3f us for %g\n", median_us(whole), work);
}

template <typename F>
static void launch_twice(F launch) {
  launch_twice(launch, launch);
}

[[maybe_unused]] static bool close_to(double got, double expected, double tolerance = 1e-3) {
  return std::fabs(got - expected) <= tolerance * std::max(1.0, std::fabs(expected));
}

static int finish(bool correct) {
  for (void* device : allocations) CUDA_CHECK(cudaFree(device));
  std::puts(correct ? "OK" : "MISMATCH");
  std::fflush(stdout);
  return correct ? 0 : 1;
}
