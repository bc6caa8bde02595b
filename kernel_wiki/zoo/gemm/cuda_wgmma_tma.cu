// C = A @ B in bf16 with float32 accumulation on Hopper: TMA fills a ring, one warpgroup produces, two multiply with wgmma.
//
// A block of three warpgroups is resident on an SM and walks 128 x 256 tiles of C in steps of 64 along K. A is (M, K), B is (K, N),
// C is (M, N), all row-major; N and K are multiples of 8 (TMA wants row strides of 16 bytes).

#include <cuda_bf16.h>
#include <cstdint>

#ifndef STAGES
#define STAGES 4
#endif
#ifndef GROUP_M
#define GROUP_M 8
#endif

constexpr int BLOCK_M = 128, BLOCK_N = 256, BLOCK_K = 64;
constexpr int WARPGROUP = 128, CONSUMERS = 2, THREADS = WARPGROUP * (1 + CONSUMERS);
constexpr int BOX_N = 64;                               // 128 bytes: the widest box that the 128-byte swizzle allows
constexpr int A_BYTES = BLOCK_M * BLOCK_K * 2;
constexpr int B_BOX_BYTES = BLOCK_K * BOX_N * 2;
constexpr int STAGE_BYTES = A_BYTES + BLOCK_N / BOX_N * B_BOX_BYTES;
constexpr int ATOM_BYTES = 1024;                        // eight rows of 128 bytes, the period of the swizzle
// 168 registers a thread at launch (65,536 over 384 threads); producers give up what the accumulators need. 24 + 2 * 240 = 3 * 168.
constexpr int PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240;

struct alignas(64) TensorMap {
    unsigned char opaque[128];
};

__device__ __forceinline__ void initialise_barrier(uint32_t barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void arrive_expecting(uint32_t barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Returns once the phase of the given parity is complete. A fresh barrier counts as having completed a phase of parity 1.
__device__ __forceinline__ void wait(uint32_t barrier, uint32_t parity) {
    uint32_t done;
    do {
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                     : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    } while (!done);
}

// Starts the copy of one box; its bytes are counted on the barrier, those outside the matrix as zeros.
__device__ __forceinline__ void load_box(uint32_t destination, const TensorMap& map, int column, int row, uint32_t barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(destination), "l"(&map), "r"(column), "r"(row), "r"(barrier) : "memory");
}

// Shared-memory descriptor of a wgmma operand in 128-byte swizzle (layout type 1 in bits 62 and 63); all fields in 16 bytes.
__device__ __forceinline__ uint64_t descriptor(uint32_t address, int leading_bytes, int stride_bytes) {
    return static_cast<uint64_t>((address & 0x3FFFF) >> 4) | static_cast<uint64_t>(leading_bytes >> 4) << 16 |
           static_cast<uint64_t>(stride_bytes >> 4) << 32 | 1ull << 62;
}

// d (64 x 256 over a warpgroup) += A (64 x 16, K contiguous) @ B (16 x 256, N contiguous: the last 1 transposes it on the way).
__device__ __forceinline__ void multiply_add(float (&d)[128], uint64_t a, uint64_t b, int accumulate) {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
        "%128, %129, p, 1, 1, 0, 1;}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
        "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
        "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
        "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
        "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
        "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
        "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
        "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
        "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
        : "l"(a), "l"(b), "r"(accumulate));
}

template <int PENDING>
__device__ __forceinline__ void wait_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// First row and column of a tile: GROUP_M tile rows down before one tile column right, so that resident blocks share L2 lines.
__device__ __forceinline__ void locate(int tile, int M, int N, int& row, int& column) {
    const int tiles_m = (M + BLOCK_M - 1) / BLOCK_M, tiles_n = (N + BLOCK_N - 1) / BLOCK_N;
    const int group = tile / (GROUP_M * tiles_n), within = tile % (GROUP_M * tiles_n);
    const int rows_in_group = min(tiles_m - group * GROUP_M, GROUP_M);
    row = (group * GROUP_M + within % rows_in_group) * BLOCK_M;
    column = within / rows_in_group * BLOCK_N;
}

// Position in the ring: the stage, and the parity of the phase that its barriers are in.
struct Position {
    int stage = 0;
    uint32_t parity = 0;
    __device__ __forceinline__ void advance() {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    }
};

// Four lanes hold two columns of each of four column octets; afterwards lane q holds all eight columns of octet q.
__device__ __forceinline__ void transpose_quad(uint32_t (&v)[4], int lane) {
#pragma unroll
    for (int distance = 1; distance <= 2; distance *= 2)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int low = distance == 1 ? i * 2 : i, high = low + distance;
            const bool upper = lane & distance;
            const uint32_t received = __shfl_xor_sync(0xFFFFFFFF, upper ? v[low] : v[high], distance);
            if (upper) v[low] = received; else v[high] = received;
        }
}

// Writes the 64 x 256 part of a warpgroup as bf16: row l / 4 (and 8 below) of a warp's 16, 64 contiguous bytes from four lanes.
__device__ __forceinline__ void store(const float (&d)[128], __nv_bfloat16* c, int first_row, int first_column, int M, int N) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x % WARPGROUP / 32;
#pragma unroll
    for (int octets = 0; octets < BLOCK_N / 8; octets += 4)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            uint32_t v[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const __nv_bfloat162 pair = __floats2bfloat162_rn(d[(octets + i) * 4 + half * 2], d[(octets + i) * 4 + half * 2 + 1]);
                v[i] = *reinterpret_cast<const uint32_t*>(&pair);
            }
            transpose_quad(v, lane);
            const int m = first_row + warp * 16 + half * 8 + lane / 4, n = first_column + (octets + lane % 4) * 8;
            if (m < M && n < N) *reinterpret_cast<uint4*>(c + static_cast<size_t>(m) * N + n) = make_uint4(v[0], v[1], v[2], v[3]);
        }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
gemm_wgmma_tma(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map, __nv_bfloat16* __restrict__ c, int M,
               int N, int K) {
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ __align__(8) uint64_t barriers[2 * STAGES];
    const uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(memory));
    const uint32_t ring = (base + ATOM_BYTES - 1) / ATOM_BYTES * ATOM_BYTES;  // the swizzle is a function of the address
    const uint32_t full = static_cast<uint32_t>(__cvta_generic_to_shared(barriers)), empty = full + STAGES * 8;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            initialise_barrier(full + stage * 8, 1);                   // the producer, and the bytes it announces
            initialise_barrier(empty + stage * 8, CONSUMERS * 4);      // every consuming warp
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");  // visible to the TMA unit
    }
    __syncthreads();

    const int tiles = (M + BLOCK_M - 1) / BLOCK_M * ((N + BLOCK_N - 1) / BLOCK_N);
    const int steps = (K + BLOCK_K - 1) / BLOCK_K;
    const int warpgroup = threadIdx.x / WARPGROUP;
    Position position;
    if (warpgroup == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
        if (threadIdx.x == 0)
            for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
                int row, column;
                locate(tile, M, N, row, column);
                for (int step = 0; step < steps; ++step, position.advance()) {
                    const uint32_t stage = ring + position.stage * STAGE_BYTES, arrived = full + position.stage * 8;
                    wait(empty + position.stage * 8, position.parity ^ 1);
                    arrive_expecting(arrived, STAGE_BYTES);
                    load_box(stage, a_map, step * BLOCK_K, row, arrived);
#pragma unroll
                    for (int i = 0; i < BLOCK_N / BOX_N; ++i)
                        load_box(stage + A_BYTES + i * B_BOX_BYTES, b_map, column + i * BOX_N, step * BLOCK_K, arrived);
                }
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMER_REGISTERS));
        const int part = warpgroup - 1;  // rows [64 * part, 64 * part + 64) of the tile
        const bool elected = threadIdx.x % 32 == 0;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            float d[128];
            int released = position.stage;  // the stage whose products may still run
            for (int step = 0; step < steps; ++step, position.advance()) {
                const uint32_t stage = ring + position.stage * STAGE_BYTES;
                wait(full + position.stage * 8, position.parity);
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
                for (int slice = 0; slice < BLOCK_K / 16; ++slice) {
                    // A: K runs inside the 128-byte rows, so 16 of K are 32 bytes; groups of eight rows lie one atom apart.
                    const uint64_t a = descriptor(stage + part * 64 * BLOCK_K * 2 + slice * 32, 16, ATOM_BYTES);
                    // B: N runs inside the rows; 16 of K are two atoms, and the next 64 columns are the next box.
                    const uint64_t b = descriptor(stage + A_BYTES + slice * 2 * ATOM_BYTES, B_BOX_BYTES, ATOM_BYTES);
                    multiply_add(d, a, b, step > 0 || slice > 0);  // the first product overwrites: no zeroing
                }
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                // One group stays in flight. The one before is complete, so its stage goes back to the producer.
                wait_products<1>();
                if (step > 0 && elected) arrive(empty + released * 8);
                released = position.stage;
            }
            wait_products<0>();
            if (elected) arrive(empty + released * 8);
            int row, column;
            locate(tile, M, N, row, column);
            store(d, c, row + part * 64, column, M, N);  // meanwhile the producer already fills the ring for the next tile
        }
    }
}
