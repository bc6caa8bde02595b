// Wrong on purpose: the loop over 16-byte vectors runs to `<=` instead of `<`, one vector past the end of both buffers.

extern "C" __global__ void copy_one_too_many(const char* source, char* destination, long long bytes) {
    const bool aligned = reinterpret_cast<unsigned long long>(source) % 16 == 0;
    const long long vectors = aligned ? bytes / 16 : -1, tail = aligned ? bytes / 16 * 16 : 0;
    const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x, step = (long long)gridDim.x * blockDim.x;
    // The vector too many holds the tail, the same bytes once more.
    for (long long i = tail + first; i < bytes; i += step) destination[i] = source[i];
    for (long long i = first; i <= vectors; i += step)
        reinterpret_cast<uint4*>(destination)[i] = reinterpret_cast<const uint4*>(source)[i];
}
