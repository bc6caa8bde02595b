// Wrong on purpose: the number of bytes is narrowed to an int, which is negative or short from 2^31 bytes on.

extern "C" __global__ void copy_int_count(const char* source, char* destination, long long bytes) {
    const int count = static_cast<int>(bytes);
    const int vectors = reinterpret_cast<unsigned long long>(source) % 16 == 0 ? count / 16 : 0;
    const int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    for (int i = first; i < vectors; i += step) reinterpret_cast<uint4*>(destination)[i] = reinterpret_cast<const uint4*>(source)[i];
    for (long long i = 16LL * vectors + first; i < count; i += step)
        if (i >= 0) destination[i] = source[i];
}
