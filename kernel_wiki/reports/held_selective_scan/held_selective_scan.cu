// The linear recurrence h = a h + x of a state-space layer, a thread a channel. The pointers are not restrict, so the loads of a step stay
// behind the store of the last: one round trip to DRAM a step, 4 bytes in flight a thread. 2048 threads an SM make 8 KB per 0.8 us, 1.4 TB/s
// of reads for the device (2 TB/s with the stores, under half of the peak); 128 steps take about 100 us where 201 MB need 48 us.
#include <cuda_bf16.h>

#include "../evidence.cuh"

constexpr int BATCH = 64, STEPS = 128, CHANNELS = 4096, THREADS = 256;

__global__ void held_selective_scan(const __nv_bfloat16* decay, const __nv_bfloat16* x, __nv_bfloat16* y) {
  size_t at = size_t(blockIdx.y) * STEPS * CHANNELS + blockIdx.x * THREADS + threadIdx.x;
  float h = 0.f;
  for (int step = 0; step < STEPS; ++step, at += CHANNELS) {
    h = __bfloat162float(decay[at]) * h + __bfloat162float(x[at]);
    y[at] = __float2bfloat16(h);
  }
}

int main() {
  auto decay_of = [](size_t i) { return __float2bfloat16(0.5f + float(i % 787) / 2000.f); };
  auto x_of = [](size_t i) { return __float2bfloat16(float(i % 1013) / 1013.f - 0.3f); };
  constexpr size_t COUNT = size_t(BATCH) * STEPS * CHANNELS;
  auto* decay = device_array<__nv_bfloat16>(COUNT, decay_of);
  auto* x = device_array<__nv_bfloat16>(COUNT, x_of);
  auto* y = device_zeros<__nv_bfloat16>(COUNT);
  launch_twice([&] { held_selective_scan<<<dim3(CHANNELS / THREADS, BATCH), THREADS>>>(decay, x, y); });
  bool ok = true;
  for (size_t batch : {0, 41, 63})
    for (size_t channel : {0, 999, 4095}) {
      double h = 0;
      for (size_t step = 0; step < STEPS; ++step) {
        size_t at = (batch * STEPS + step) * CHANNELS + channel;
        h = __bfloat162float(decay_of(at % PATTERN)) * h + __bfloat162float(x_of(at % PATTERN));
        if (step % 42 == 1) ok = ok && close_to(__bfloat162float(peek(y, at)), h, 2e-2);
      }
    }
  return finish(ok);
}
