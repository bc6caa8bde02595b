// C = A @ B in bf16 with float32 accumulation: cp.async ring, ldmatrix, mma.sync m16n8k16, XOR-swizzled shared memory.
//
// A block of 8 warps makes a 128 x 256 tile of C, each warp a 64 x 64 part of it, in steps of 32 along K.
// A is (M, K), B is (K, N), C is (M, N), all row-major; N and K are multiples of 8, so a 16-byte chunk is inside or outside whole.

#include <cuda_bf16.h>
#include <cstdint>

#ifndef STAGES
#define STAGES 4
#endif
#ifndef GROUP_M
#define GROUP_M 8
#endif

constexpr int BLOCK_M = 128, BLOCK_N = 256, BLOCK_K = 32;
constexpr int WARP_M = 64, WARP_N = 64;
constexpr int WARPS_N = BLOCK_N / WARP_N;
constexpr int THREADS = 256;
constexpr int CHUNK = 8;                                // bf16 in 16 bytes
constexpr int A_BYTES = BLOCK_M * BLOCK_K * 2;
constexpr int B_BYTES = BLOCK_K * BLOCK_N * 2;
constexpr int STAGE_BYTES = A_BYTES + B_BYTES;          // 24 KiB; four stages fit the 99 KiB of sm_89 and sm_120
constexpr int MMA_M = WARP_M / 16, MMA_N = WARP_N / 8, MMA_K = BLOCK_K / 16;
static_assert(STAGES * STAGE_BYTES >= BLOCK_M * BLOCK_N * 2, "the tile of C is staged in the ring");

// Byte offset of a 16-byte chunk of the A tile. A row is 64 bytes, so two rows share the 32 banks; XOR with row / 2 puts the
// eight rows that one ldmatrix phase reads at equal chunk into eight different groups of four banks.
__device__ __forceinline__ uint32_t a_offset(int row, int chunk) {
    return row * (BLOCK_K * 2) + ((chunk ^ ((row >> 1) & 3)) << 4);
}

// The same for rows of 512 bytes (the B tile, and the tile of C at the end), where every row starts at bank 0.
__device__ __forceinline__ uint32_t wide_offset(int row, int chunk) {
    return row * (BLOCK_N * 2) + ((chunk ^ (row & 7)) << 4);
}

// 16 bytes from global to shared memory without passing through registers. With source size 0 nothing is read and zeros are written,
// so the source address may lie outside the matrix then.
__device__ __forceinline__ void copy_async(uint32_t destination, const void* source, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(source), "r"(inside ? 16 : 0) : "memory");
}

__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int PENDING>
__device__ __forceinline__ void wait_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}

// B lies with n contiguous while mma wants k contiguous in a thread: the transposing load does it for free.
__device__ __forceinline__ void load_matrices_transposed(uint32_t (&r)[4], uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}

__device__ __forceinline__ void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// What one thread copies in every step along K: two chunks of A, 64 rows apart, and four of B, 8 rows apart. Both distances leave
// the swizzle unchanged, so all six destinations are one offset plus constants.
struct Copies {
    const __nv_bfloat16 *a, *b;          // this thread's first chunk of step 0
    uint32_t a_destination, b_destination;
    int a_k, b_k;                        // position along K within a step
    int rows_left;                       // rows of A from this thread's first one to the end
    bool column_inside;

    __device__ Copies(const __nv_bfloat16* a_matrix, const __nv_bfloat16* b_matrix, int first_row, int first_column, int M, int N, int K) {
        constexpr int A_CHUNKS = BLOCK_K / CHUNK, B_CHUNKS = BLOCK_N / CHUNK;
        const int a_row = threadIdx.x / A_CHUNKS, a_chunk = threadIdx.x % A_CHUNKS;
        const int b_row = threadIdx.x / B_CHUNKS, b_chunk = threadIdx.x % B_CHUNKS;
        a_k = a_chunk * CHUNK, b_k = b_row;
        a = a_matrix + static_cast<size_t>(first_row + a_row) * K + a_k;
        b = b_matrix + static_cast<size_t>(b_row) * N + first_column + b_chunk * CHUNK;
        a_destination = a_offset(a_row, a_chunk), b_destination = A_BYTES + wide_offset(b_row, b_chunk);
        rows_left = M - first_row - a_row;
        column_inside = first_column + b_chunk * CHUNK < N;
    }

    // Copies the step that begins at `first_k` and moves on by one. What lies outside becomes zeros.
    __device__ __forceinline__ void start(uint32_t stage, int first_k, int N, int K) {
        constexpr int A_ROWS = THREADS / (BLOCK_K / CHUNK), B_ROWS = THREADS / (BLOCK_N / CHUNK);
#pragma unroll
        for (int i = 0; i < BLOCK_M / A_ROWS; ++i)
            copy_async(stage + a_destination + i * A_ROWS * BLOCK_K * 2, a + static_cast<size_t>(i * A_ROWS) * K,
                       i * A_ROWS < rows_left && first_k + a_k < K);
#pragma unroll
        for (int i = 0; i < BLOCK_K / B_ROWS; ++i)
            copy_async(stage + b_destination + i * B_ROWS * BLOCK_N * 2, b + static_cast<size_t>(i * B_ROWS) * N,
                       column_inside && first_k + b_k + i * B_ROWS < K);
        a += BLOCK_K;
        b += static_cast<size_t>(BLOCK_K) * N;
    }
};

// Fragments of one k16 slice: for ldmatrix, lane l names row l % 16 of a 16 x 16 block and its chunk l / 16.
__device__ __forceinline__ void load_fragments(uint32_t (&a)[MMA_M][4], uint32_t (&b)[MMA_N / 2][4], uint32_t stage, int slice,
                                               int warp_row, int warp_column, int lane) {
#pragma unroll
    for (int i = 0; i < MMA_M; ++i)
        load_matrices(a[i], stage + a_offset(warp_row + i * 16 + lane % 16, slice * 2 + lane / 16));
#pragma unroll
    for (int j = 0; j < MMA_N / 2; ++j)
        load_matrices_transposed(b[j], stage + A_BYTES + wide_offset(slice * 16 + lane % 16, warp_column / CHUNK + j * 2 + lane / 16));
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
gemm_mma_sync(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b, __nv_bfloat16* __restrict__ c, int M, int N,
              int K) {
    extern __shared__ __align__(128) unsigned char ring[];
    const uint32_t ring_address = static_cast<uint32_t>(__cvta_generic_to_shared(ring));
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_row = warp / WARPS_N * WARP_M, warp_column = warp % WARPS_N * WARP_N;

    // GROUP_M tile rows down before one tile column right: blocks that run together share rows of A and columns of B in L2.
    const int tiles_m = (M + BLOCK_M - 1) / BLOCK_M, tiles_n = (N + BLOCK_N - 1) / BLOCK_N;
    const int group = blockIdx.x / (GROUP_M * tiles_n), within = blockIdx.x % (GROUP_M * tiles_n);
    const int rows_in_group = min(tiles_m - group * GROUP_M, GROUP_M);
    const int first_row = (group * GROUP_M + within % rows_in_group) * BLOCK_M;
    const int first_column = within / rows_in_group * BLOCK_N;

    Copies copies(a, b, first_row, first_column, M, N, K);
    const int steps = (K + BLOCK_K - 1) / BLOCK_K;
    for (int step = 0; step < STAGES - 1; ++step) {
        if (step < steps) copies.start(ring_address + step * STAGE_BYTES, step * BLOCK_K, N, K);
        commit_copies();  // also when empty: the count of groups is what wait_copies goes by
    }

    float accumulator[MMA_M][MMA_N][4] = {};
    uint32_t a_fragment[2][MMA_M][4], b_fragment[2][MMA_N / 2][4];
    wait_copies<STAGES - 2>();
    __syncthreads();
    load_fragments(a_fragment[0], b_fragment[0], ring_address, 0, warp_row, warp_column, lane);

    int slot = 0, next_slot = STAGES - 1;  // being multiplied, and being filled
    for (int step = 0; step < steps; ++step) {
#pragma unroll
        for (int slice = 0; slice < MMA_K; ++slice) {
            const int now = slice % 2, after = (slice + 1) % 2;
            if (slice == MMA_K - 1) {
                // The next step has arrived, and every warp holds the last slice of this one in registers: after the barrier
                // this slot may be refilled. One barrier a step does both.
                wait_copies<STAGES - 2>();
                __syncthreads();
                slot = slot + 1 == STAGES ? 0 : slot + 1;
            }
            // Fragments of the next slice are fetched before this one is multiplied, across steps too.
            load_fragments(a_fragment[after], b_fragment[after], ring_address + slot * STAGE_BYTES, (slice + 1) % MMA_K, warp_row,
                           warp_column, lane);
            if (slice == 0) {
                const int ahead = step + STAGES - 1;
                if (ahead < steps) copies.start(ring_address + next_slot * STAGE_BYTES, ahead * BLOCK_K, N, K);
                commit_copies();
                next_slot = next_slot + 1 == STAGES ? 0 : next_slot + 1;
            }
#pragma unroll
            for (int i = 0; i < MMA_M; ++i)
#pragma unroll
                for (int j = 0; j < MMA_N; ++j)
                    multiply_add(accumulator[i][j], a_fragment[now][i], b_fragment[now][j / 2][j % 2 * 2],
                                 b_fragment[now][j / 2][j % 2 * 2 + 1]);
        }
    }

    // A thread holds pairs of columns; through shared memory the tile leaves as whole 16-byte chunks, a row of 512 bytes a warp.
    wait_copies<0>();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < MMA_M; ++i)
#pragma unroll
        for (int j = 0; j < MMA_N; ++j)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int row = warp_row + i * 16 + half * 8 + lane / 4, chunk = warp_column / CHUNK + j;
                const __nv_bfloat162 pair = __floats2bfloat162_rn(accumulator[i][j][half * 2], accumulator[i][j][half * 2 + 1]);
                *reinterpret_cast<__nv_bfloat162*>(ring + wide_offset(row, chunk) + lane % 4 * 4) = pair;
            }
    __syncthreads();
    for (int i = threadIdx.x; i < BLOCK_M * BLOCK_N / CHUNK; i += THREADS) {
        const int row = i / (BLOCK_N / CHUNK), chunk = i % (BLOCK_N / CHUNK);
        const int m = first_row + row, n = first_column + chunk * CHUNK;
        if (m < M && n < N)
            *reinterpret_cast<uint4*>(c + static_cast<size_t>(m) * N + n) = *reinterpret_cast<const uint4*>(ring + wide_offset(row, chunk));
    }
}
