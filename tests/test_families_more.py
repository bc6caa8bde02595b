"""Families from the shape of the code: kernels whose names say nothing, in several styles, and those that look alike."""

from __future__ import annotations

import time

import pytest

from retriever.kernels.facts import KernelFacts
from retriever.kernels.read import read_kernel

PLACE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"

MATRIX_VECTOR = {
    "a row a thread": f"""__global__ void k(const float* m, const float* v, float* o, int rows, int cols) {{
      {PLACE}
      if (i >= rows) return;
      float t = 0.f;
      for (int j = 0; j < cols; ++j) t += m[i * cols + j] * v[j];
      o[i] = t;
    }}""",
    "a row a warp, pointers and fmaf": """__global__ void k(const float* __restrict__ m, const float* __restrict__ v,
        float* o, int rows, int ld) {
      int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
      const float* row = m + (size_t)warp * ld;
      float t = 0.f;
      for (int j = lane; j < ld; j += 32) t = fmaf(__ldg(row + j), __ldg(&v[j]), t);
      for (int s = 16; s; s >>= 1) t += __shfl_xor_sync(~0u, t, s);
      if (lane == 0) o[warp] = t;
    }""",
    "a row a block, four at once": """__global__ void k(const float4* m, const float4* v, float* o, int quads) {
      float t = 0.f;
      for (int j = threadIdx.x; j < quads; j += blockDim.x) {
        float4 a = m[blockIdx.x * quads + j], b = v[j];
        t += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
      }
      __shared__ float part[32];
      for (int s = 16; s; s >>= 1) t += __shfl_down_sync(~0u, t, s);
      if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = t;
      __syncthreads();
      if (threadIdx.x == 0) { for (int w = 1; w < blockDim.x / 32; ++w) t += part[w]; o[blockIdx.x] = t; }
    }""",
    "a vector in shared memory": f"""__global__ void k(const float* m, const float* v, float* o, int cols) {{
      __shared__ float s[256];
      {PLACE}
      float t = 0;
      for (int at = 0; at < cols; at += 256) {{
        s[threadIdx.x] = v[at + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 256; j++) t += m[(size_t)i * cols + at + j] * s[j];
        __syncthreads();
      }}
      o[i] = t;
    }}""",
    "columns of a transposed matrix": f"""__global__ void k(const float* m, const float* v, float* o, int rows, int cols) {{
      {PLACE}
      float t = 0;
      int j = 0;
      while (j < rows) {{ t = t + m[j * cols + i] * v[j]; j++; }}
      o[i] = t;
    }}""",
    "batched": """__global__ void k(const float* m, const float* v, float* o, int rows, int cols) {
      int b = blockIdx.y, r = blockIdx.x * blockDim.y + threadIdx.y;
      const float* mb = m + (long)b * rows * cols;
      const float* vb = v + (long)b * cols;
      float t = 0;
      for (int c = threadIdx.x; c < cols; c += 32) t += mb[r * cols + c] * vb[c];
      for (int s = 16; s > 0; s /= 2) t += __shfl_down_sync(0xffffffff, t, s);
      if (threadIdx.x == 0) o[b * rows + r] = t;
    }""",
    "weights of eight bits with scales": f"""__global__ void k(const signed char* w, const float* scale,
        const __half* x, float* y, int cols) {{
      {PLACE}
      float t = 0;
      for (int j = 0; j < cols; ++j) {{
        float q = scale[i * (cols / 32) + j / 32] * (float)w[i * cols + j];
        t += q * __half2float(x[j]);
      }}
      y[i] = t;
    }}""",
    "rows in a grid-stride loop": """__global__ void k(const float* m, const float* v, float* o, int rows, int cols) {
      for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        float t = 0;
        for (int j = threadIdx.x; j < cols; j += blockDim.x) t += m[r * cols + j] * v[j];
        t = __reduce_block(t);
        if (threadIdx.x == 0) o[r] = t;
      }
    }""",
    "a helper for the dot product": f"""__device__ float along(const float* a, const float* b, int n) {{
      float t = 0;
      for (int j = 0; j < n; ++j) t += a[j] * b[j];
      return t;
    }}
    __global__ void k(const float* m, const float* v, float* o, int cols) {{
      {PLACE}
      o[i] = along(m + i * cols, v, cols);
    }}""",
}  # fmt: skip

CONVOLUTIONS = {
    "depthwise, padded, strided": """__global__ void k(const float* x, const float* w, float* y, int C, int H, int W,
        int OH, int OW, int stride, int pad) {
      int ox = blockIdx.x * blockDim.x + threadIdx.x, oy = blockIdx.y, c = blockIdx.z;
      float t = 0.f;
      for (int ky = 0; ky < 3; ++ky)
        for (int kx = 0; kx < 3; ++kx) {
          int iy = oy * stride + ky - pad, ix = ox * stride + kx - pad;
          if (iy >= 0 && iy < H && ix >= 0 && ix < W) t += x[(c * H + iy) * W + ix] * w[(c * 3 + ky) * 3 + kx];
        }
      y[(c * OH + oy) * OW + ox] = t;
    }""",
    "one dimension, weights in constant memory": f"""__constant__ float taps[65];
    __global__ void k(const float* x, float* y, int n, int count) {{
      {PLACE}
      float t = 0;
      for (int j = 0; j < count; ++j) t += taps[j] * x[i + j];
      y[i] = t;
    }}""",
    "causal": """__global__ void k(const float* x, const float* w, float* y, int T, int width) {
      int c = blockIdx.y, t = blockIdx.x * blockDim.x + threadIdx.x;
      float s = 0;
      for (int j = 0; j < width; ++j) {
        int at = t - (width - 1) + j;
        float v = at >= 0 ? x[c * T + at] : 0.f;
        s = fmaf(v, w[c * width + j], s);
      }
      y[c * T + t] = s;
    }""",
    "all channels": """__global__ void k(const float* in, const float* filt, float* out, int Cin, int H, int W, int K, int stride) {
      int oc = blockIdx.z, p = blockIdx.y * blockDim.y + threadIdx.y, q = blockIdx.x * blockDim.x + threadIdx.x;
      int P = (H - K) / stride + 1, Q = (W - K) / stride + 1;
      float acc = 0;
      for (int c = 0; c < Cin; c++)
        for (int r = 0; r < K; r++)
          for (int s = 0; s < K; s++)
            acc += in[(c * H + p * stride + r) * W + q * stride + s] * filt[((oc * Cin + c) * K + r) * K + s];
      out[(oc * P + p) * Q + q] = acc;
    }""",
    "a shared tile with a halo": """#define R 2
    __global__ void k(const float* x, const float* w, float* y, int W) {
      __shared__ float tile[16 + 2 * R][16 + 2 * R];
      int tx = threadIdx.x, ty = threadIdx.y;
      tile[ty][tx] = x[(blockIdx.y * 16 + ty) * W + blockIdx.x * 16 + tx];
      __syncthreads();
      float t = 0;
      for (int a = 0; a < 2 * R + 1; ++a)
        for (int b = 0; b < 2 * R + 1; ++b) t += tile[ty + a][tx + b] * w[a * (2 * R + 1) + b];
      y[(blockIdx.y * 16 + ty) * W + blockIdx.x * 16 + tx] = t;
    }""",
    "channels last, dilated": """__global__ void k(const float* x, const float* w, float* y, int H, int W, int C, int dilation, int pad) {
      int c = threadIdx.x, ox = blockIdx.x, oy = blockIdx.y;
      float t = 0;
      for (int r = 0; r < 3; ++r)
        for (int s = 0; s < 3; ++s) {
          int iy = oy + r * dilation - pad, ix = ox + s * dilation - pad;
          if ((unsigned)iy < (unsigned)H && (unsigned)ix < (unsigned)W) t += x[(iy * W + ix) * C + c] * w[(r * 3 + s) * C + c];
        }
      y[(oy * W + ox) * C + c] = t;
    }""",
    "im2col on the fly": """__global__ void k(const float* x, const float* w, float* y, int C, int H, int W, int R, int OW, int pad) {
      int oc = blockIdx.y, p = blockIdx.x * blockDim.x + threadIdx.x;
      int oy = p / OW, ox = p % OW;
      float t = 0;
      for (int kk = 0; kk < C * R * R; ++kk) {
        int c = kk / (R * R), r = kk / R % R, s = kk % R;
        int iy = oy + r - pad, ix = ox + s - pad;
        if (iy >= 0 && iy < H && ix >= 0 && ix < W) t += w[oc * C * R * R + kk] * x[(c * H + iy) * W + ix];
      }
      y[oc * OW * OW + p] = t;
    }""",
}  # fmt: skip

MATRIX_PRODUCTS = {
    "naive": """__global__ void k(const float* a, const float* b, float* c, int M, int N, int K) {
      int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
      float t = 0;
      for (int j = 0; j < K; ++j) t += a[row * K + j] * b[j * N + col];
      c[row * N + col] = t;
    }""",
    "leading dimensions named strides": """__global__ void k(const float* a, const float* b, float* c, int K,
        int stride_a, int stride_b, int stride_c) {
      int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
      float t = 0;
      for (int j = 0; j < K; ++j) t += a[row * stride_a + j] * b[j * stride_b + col];
      c[row * stride_c + col] = t;
    }""",
    "shared tiles": """#define TILE 16
    __global__ void k(const float* a, const float* b, float* c, int n) {
      __shared__ float as[TILE][TILE], bs[TILE][TILE];
      int ty = threadIdx.y, tx = threadIdx.x, row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
      float t = 0;
      for (int at = 0; at < n; at += TILE) {
        as[ty][tx] = a[row * n + at + tx];
        bs[ty][tx] = b[(at + ty) * n + col];
        __syncthreads();
        for (int j = 0; j < TILE; ++j) t += as[ty][j] * bs[j][tx];
        __syncthreads();
      }
      c[row * n + col] = t;
    }""",
    "flat shared tiles": """__global__ void k(const float* a, const float* b, float* c, int n) {
      __shared__ float as[16 * 16], bs[16 * 16];
      int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
      float t = 0;
      for (int at = 0; at < n; at += 16) {
        as[threadIdx.x] = a[(blockIdx.y * 16 + ty) * n + at + tx];
        bs[threadIdx.x] = b[(at + ty) * n + blockIdx.x * 16 + tx];
        __syncthreads();
        for (int j = 0; j < 16; ++j) t += as[ty * 16 + j] * bs[j * 16 + tx];
        __syncthreads();
      }
      c[(blockIdx.y * 16 + ty) * n + blockIdx.x * 16 + tx] = t;
    }""",
    "register tiles": """template <int BK, int TM, int TN> __global__ void k(const float* a, const float* b, float* c, int N, int K) {
      __shared__ float as[BK][64], bs[BK][64];
      int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
      float acc[TM][TN] = {}, ra[TM], rb[TN];
      for (int at = 0; at < K; at += BK) {
        as[threadIdx.x % BK][threadIdx.x / BK] = a[(blockIdx.y * 64 + threadIdx.x / BK) * K + at + threadIdx.x % BK];
        bs[threadIdx.x / 64][threadIdx.x % 64] = b[(at + threadIdx.x / 64) * N + blockIdx.x * 64 + threadIdx.x % 64];
        __syncthreads();
        for (int j = 0; j < BK; ++j) {
          for (int m = 0; m < TM; ++m) ra[m] = as[j][ty * TM + m];
          for (int n = 0; n < TN; ++n) rb[n] = bs[j][tx * TN + n];
          for (int m = 0; m < TM; ++m)
            for (int n = 0; n < TN; ++n) acc[m][n] += ra[m] * rb[n];
        }
        __syncthreads();
      }
      for (int m = 0; m < TM; ++m) c[(blockIdx.y * 64 + ty * TM + m) * N + tx] = acc[m][0];
    }""",
    "a loop over columns": f"""__global__ void k(const float* a, const float* b, float* c, int N, int K) {{
      {PLACE}
      for (int col = 0; col < N; ++col) {{
        float t = 0;
        for (int j = 0; j < K; ++j) t += a[i * K + j] * b[col * K + j];
        c[i * N + col] = t;
      }}
    }}""",
    "a matrix times its transpose": """__global__ void k(const float* a, float* c, int n, int K) {
      int p = blockIdx.y, q = blockIdx.x * blockDim.x + threadIdx.x;
      float t = 0;
      for (int j = 0; j < K; ++j) t += a[p * K + j] * a[q * K + j];
      c[p * n + q] = t;
    }""",
    "batched": """__global__ void k(const float* a, const float* b, float* c, int M, int N, int K) {
      int z = blockIdx.z, row = blockIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
      const float *az = a + z * M * K, *bz = b + z * K * N;
      float t = 0;
      for (int j = 0; j < K; j++) t = __fmaf_rn(az[row * K + j], bz[j * N + col], t);
      c[(z * M + row) * N + col] = t;
    }""",
}  # fmt: skip

OTHERS = {
    ("stencil", "a star with coefficients"): """__global__ void k(const float* u, float* v, int n) {
      __shared__ float s[288];
      __constant__ float c[5];
      int at = threadIdx.x + 16, i = blockIdx.x * blockDim.x + threadIdx.x;
      s[at] = u[i];
      __syncthreads();
      float t = 0;
      for (int j = 1; j <= 4; ++j) t += c[j] * (s[at + j] + s[at - j]);
      v[i] = t;
    }""",
    ("", "a five-point star"): """__global__ void k(const float* u, float* v, int W) {
      int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y + 1;
      v[y * W + x] = 0.25f * (u[y * W + x - 1] + u[y * W + x + 1] + u[(y - 1) * W + x] + u[(y + 1) * W + x]);
    }""",
    ("attention", "scores and values in one kernel"): """__global__ void k(const float* q, const float* kk,
        const float* v, float* o, int n) {
      const int D = 64;
      int r = blockIdx.x * blockDim.x + threadIdx.x;
      float acc[64] = {}, m = -1e30f, l = 0;
      for (int j = 0; j < n; ++j) {
        float s = 0;
        for (int d = 0; d < D; ++d) s += q[r * D + d] * kk[j * D + d];
        float mn = fmaxf(m, s), p = __expf(s - mn), f = __expf(m - mn);
        l = l * f + p;
        for (int d = 0; d < D; ++d) acc[d] = acc[d] * f + p * v[j * D + d];
        m = mn;
      }
      for (int d = 0; d < D; ++d) o[r * D + d] = acc[d] / l;
    }""",
    ("reduction", "a dot product"): """__global__ void k(const float* a, const float* b, float* o, int n) {
      float t = 0;
      for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) t += a[i] * b[i];
      for (int s = 16; s; s >>= 1) t += __shfl_down_sync(~0u, t, s);
      if (threadIdx.x % 32 == 0) atomicAdd(o, t);
    }""",
    ("norm", "a row divided by its root mean square"): """__global__ void k(const float* x, const float* w, float* y, int n) {
      float t = 0;
      for (int j = threadIdx.x; j < n; j += 32) { float v = x[blockIdx.x * n + j]; t += v * v; }
      for (int s = 16; s; s >>= 1) t += __shfl_xor_sync(~0u, t, s);
      float r = rsqrtf(t / n + 1e-6f);
      for (int j = threadIdx.x; j < n; j += 32) y[blockIdx.x * n + j] = x[blockIdx.x * n + j] * r * w[j];
    }""",
    ("sparse", "columns by an index array"): """__global__ void k(const int* row_ptr, const int* col, const float* v,
        const float* x, float* y, int n) {
      int r = blockIdx.x * blockDim.x + threadIdx.x;
      float t = 0;
      for (int j = row_ptr[r]; j < row_ptr[r + 1]; ++j) t += v[j] * x[col[j]];
      y[r] = t;
    }""",
}  # fmt: skip


def first_family(facts: KernelFacts) -> str:
    return facts.families[0].id if facts.families else ""


@pytest.mark.parametrize("style", MATRIX_VECTOR)
def test_a_matrix_times_a_vector_is_no_matrix_product(style: str) -> None:
    facts = read_kernel(MATRIX_VECTOR[style], "k.cu")
    assert first_family(facts) == "gemv"
    assert "gemm" not in [fact.id for fact in facts.families]


@pytest.mark.parametrize("style", CONVOLUTIONS)
def test_weights_over_a_moving_window_are_a_convolution(style: str) -> None:
    assert first_family(read_kernel(CONVOLUTIONS[style], "k.cu")) == "convolution"


@pytest.mark.parametrize("style", MATRIX_PRODUCTS)
def test_a_matrix_product_stays_one(style: str) -> None:
    assert [fact.id for fact in read_kernel(MATRIX_PRODUCTS[style], "k.cu").families] == ["gemm"]


@pytest.mark.parametrize(("family", "style"), OTHERS)
def test_what_also_multiplies_and_adds_is_not_taken_for_a_product(family: str, style: str) -> None:
    read = [fact.id for fact in read_kernel(OTHERS[family, style], "k.cu").families]
    assert read[:1] == ([family] if family else read[:1])
    assert not {"gemm", "gemv", "convolution"} & set(read)


TRITON_HEAD = "import triton\nimport triton.language as tl\n@triton.jit\n"
TRITON = {
    ("gemv", "a row a program"): """def k(m, v, o, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        mask = start + at < cols
        a = tl.load(m + row * cols + start + at, mask=mask, other=0.0)
        b = tl.load(v + start + at, mask=mask, other=0.0)
        acc += a.to(tl.float32) * b
    tl.store(o + row, tl.sum(acc, axis=0))
""",
    ("gemv", "a block of rows"): """def k(m, v, o, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    acc = tl.zeros((ROWS,), tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        acc += tl.sum(tl.load(m + rows[:, None] * cols + at[None, :]) * tl.load(v + at)[None, :], axis=1)
    tl.store(o + rows, acc)
""",
    ("convolution", "depthwise along a row"): """def k(x, w, y, n, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    c = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for j in tl.static_range(WIDTH):
        acc += tl.load(x + c * n + at + j, mask=at + j < n, other=0.0) * tl.load(w + c * WIDTH + j)
    tl.store(y + c * n + at, acc, mask=at < n)
""",
    ("reduction", "a dot product"): """def k(a, b, o, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.sum(tl.load(a + at, mask=at < n, other=0.0) * tl.load(b + at, mask=at < n, other=0.0), axis=0)
    tl.atomic_add(o, s)
""",
    ("gemm", "outer products"): """def k(a, b, c, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        acc = tl.dot(tl.load(a + rows[:, None] * n + at[None, :]), tl.load(b + at[:, None] * n + cols[None, :]), acc)
    tl.store(c + rows[:, None] * n + cols[None, :], acc)
""",
    ("elementwise", "a scale for each column"): """def k(x, w, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(y + row * n + at, tl.load(x + row * n + at) * tl.load(w + at))
""",
}  # fmt: skip


@pytest.mark.parametrize(("family", "style"), TRITON)
def test_a_triton_function_is_read_by_how_its_addresses_share_their_terms(family: str, style: str) -> None:
    assert first_family(read_kernel(TRITON_HEAD + TRITON[family, style], "k.py")) == family


CUTE = """import cutlass
import cutlass.cute as cute

@cute.kernel
def triad_tile(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    c[tid] = a[tid] + b[tid]

class Runner:
    @cute.kernel()
    def second(self, a: cute.Tensor):
        pass

    @cute.jit
    def __call__(self, a):
        self.second(a).launch(grid=[1, 1, 1], block=[32, 1, 1])

@cute.jit
def gemm_host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    triad_tile(a, b, c).launch(grid=[1, 1, 1], block=[128, 1, 1])
"""


def test_a_cute_dsl_kernel_is_named_by_what_runs_on_the_gpu() -> None:
    facts = read_kernel(CUTE, "k.py")
    assert (facts.language, facts.kernels) == ("cutedsl", ("triad_tile", "second"))
    assert first_family(facts) == "elementwise"  # `gemm_host` only launches
    lines = CUTE.replace("@cute.kernel()", "@cute.jit").replace("@cute.kernel", "@cute.jit")
    assert read_kernel(lines, "k.py").kernels  # without a kernel, what there is
    assert read_kernel("(\n" + CUTE, "k.py").kernels == ("triad_tile", "second")  # by patterns


def ptx(body: str) -> str:
    return (
        f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)\n{{\n{body}\n}}\n"
    )


POINTERS = "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u64 %rd3, [c];\n"
BLOCK_PLACE = "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.s32 %r4, %r1, %r2, %r3;\n"
MULTIPLY_ADD = "ld.global.f32 %f1, [%rd5];\nld.global.f32 %f2, [%rd7];\nfma.rn.f32 %f3, %f1, %f2, %f3;\n"
SHUFFLE = "shfl.sync.bfly.b32 %r20|%p1, %r19, 16, 31, -1;\nmov.b32 %f9, %r20;\nadd.f32 %f3, %f3, %f9;\n"
AT_ONE_PLACE = (
    POINTERS + BLOCK_PLACE + "mul.wide.s32 %rd4, %r4, 4;\nadd.s64 %rd5, %rd1, %rd4;\nadd.s64 %rd7, %rd2, %rd4;\nadd.s64 %rd8, %rd3, %rd4;\n"
)
ROW_OF_WARP = (
    POINTERS + BLOCK_PLACE + "shr.u32 %r5, %r4, 5;\nand.b32 %r6, %r3, 31;\nmad.lo.s32 %r7, %r5, 512, %r6;\nmul.wide.s32 %rd4, %r7, 4;\n"
    "add.s64 %rd5, %rd1, %rd4;\nmul.wide.s32 %rd6, %r6, 4;\nadd.s64 %rd7, %rd2, %rd6;\n"
)
ROW_AND_COLUMN = (
    POINTERS + "mov.u32 %r1, %tid.y;\nmov.u32 %r2, %tid.x;\nmul.wide.s32 %rd4, %r1, 512;\nadd.s64 %rd5, %rd1, %rd4;\n"
    "mul.wide.s32 %rd6, %r2, 4;\nadd.s64 %rd7, %rd2, %rd6;\n"
)
LISTINGS = {
    ("gemv", "a row a warp"): ROW_OF_WARP + "$L1:\n" + MULTIPLY_ADD + "@%p2 bra $L1;\n" + SHUFFLE + "st.global.f32 [%rd3], %f3;",
    ("gemm", "no matrix instruction"): ROW_AND_COLUMN + "$L1:\n" + MULTIPLY_ADD + "@%p2 bra $L1;\nst.global.f32 [%rd3], %f3;",
    ("reduction", "a dot product"): AT_ONE_PLACE + "$L1:\n" + MULTIPLY_ADD + "@%p2 bra $L1;\n"
    "" + SHUFFLE + "red.global.add.f32 [%rd3], %f3;",
    ("copy", "one element a thread"): AT_ONE_PLACE + "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd5];\n"
    "st.global.v4.f32 [%rd8], {%f1, %f2, %f3, %f4};",
    ("elementwise", "a sum"): AT_ONE_PLACE + "ld.global.f32 %f1, [%rd5];\nld.global.f32 %f2, [%rd7];\n"
    "add.f32 %f3, %f1, %f2;\nst.global.f32 [%rd8], %f3;",
    ("", "neighbours"): AT_ONE_PLACE + "ld.global.f32 %f1, [%rd5+-4];\nld.global.f32 %f2, [%rd5+4];\nadd.f32 %f3, %f1, %f2;\n"
    "st.global.f32 [%rd8], %f3;",
    ("", "a thread's row times a vector, or taps over a signal"): POINTERS + BLOCK_PLACE + "mul.wide.s32 %rd4, %r4, 4;\n"
    "add.s64 %rd5, %rd1, %rd4;\nmov.u64 %rd7, %rd2;\n$L1:\n" + MULTIPLY_ADD + "@%p2 bra $L1;\nst.global.f32 [%rd3], %f3;",
    ("softmax", "exponential, maximum, shuffle"): "max.f32 %f1, %f2, %f3;\nex2.approx.ftz.f32 %f4, %f1;\n" + SHUFFLE,
    ("", "an exponential and a clamp"): "max.f32 %f1, %f2, %f3;\nex2.approx.ftz.f32 %f4, %f1;",
    ("norm", "a root and a shuffle"): "rsqrt.approx.f32 %f1, %f2;\n" + SHUFFLE,
    ("attention", "products around a softmax"): "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f1};\n"
    "max.f32 %f1, %f2, %f3;\nex2.approx.ftz.f32 %f4, %f1;\n" + SHUFFLE,
    ("gemm", "a matrix instruction"): "{.reg .pred p; setp.ne.b32 p, %r1, 0; "
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1}, %rd1, %rd2, p, 1, 1, 0, 0;}",
    ("sort", "counts at what was loaded"): POINTERS + "ld.global.u32 %r1, [%rd1];\nmul.wide.u32 %rd4, %r1, 4;\nadd.s64 %rd5, %rd2, %rd4;\n"
    "red.global.add.u32 [%rd5], 1;",
    ("", "a counter of blocks"): POINTERS + "atom.global.add.u32 %r1, [%rd1], 1;",
    ("activation", "a sigmoid"): "ex2.approx.f32 %f1, %f2;\nadd.f32 %f3, %f1, 0f3F800000;\nrcp.approx.f32 %f4, %f3;",
    ("scan", "values for later lanes"): "shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1;\nadd.s32 %r3, %r1, %r2;",
    ("quantization", "conversion to eight bits"): "max.f32 %f1, %f2, %f3;\ncvt.rn.satfinite.e4m3x2.f32 %rs1, %f1, %f2;",
}  # fmt: skip


@pytest.mark.parametrize(("family", "style"), LISTINGS)
def test_a_ptx_listing_has_the_family_that_its_instructions_show_or_none(family: str, style: str) -> None:
    facts = read_kernel(ptx(LISTINGS[family, style]), "k.ptx")
    assert (facts.language, first_family(facts)) == ("ptx", family)
    assert all(fact.why for fact in facts.families)


def sass(*instructions: str) -> str:
    rows = "\n".join(f"        /*{16 * at:04x}*/                   {text} ;" for at, text in enumerate(instructions))
    return f"\tcode for sm_90a\n\t\tFunction : k\n{rows}\n"


MACHINE_CODE = {
    "gemm": ("LDSM.16.M88.4 R4, [R2]", "HMMA.16816.F32 R8, R4, R6, R8"),
    "attention": ("HGMMA.64x64x16.F32 R8, gdesc[UR4], R8", "FMNMX R1, R2, R3, !PT", "MUFU.EX2 R4, R1", "SHFL.BFLY PT, R5, R4, 0x1, 0x1f"),
    "softmax": ("FMNMX R1, R2, R3, !PT", "MUFU.EX2 R4, R1", "SHFL.BFLY PT, R5, R4, 0x1, 0x1f"),
    "norm": ("FFMA R1, R2, R2, R1", "SHFL.BFLY PT, R5, R1, 0x1, 0x1f", "MUFU.RSQ R6, R5"),
    "reduction": ("LDG.E R1, [R2.64]", "SHFL.DOWN PT, R5, R1, 0x1, 0x1f", "FADD R1, R1, R5"),
    "activation": ("MUFU.EX2 R1, R2", "FADD R3, R1, 1", "MUFU.RCP R4, R3"),
    "": ("LDG.E R1, [R2.64]", "FADD R1, R1, R5", "STG.E [R2.64], R1", "EXIT", "BRA 0x40"),
}


@pytest.mark.parametrize("family", MACHINE_CODE)
def test_a_sass_listing_has_its_language_and_the_family_that_its_opcodes_show(family: str) -> None:
    facts = read_kernel(sass(*MACHINE_CODE[family]), "k.sass")
    assert (facts.language, first_family(facts)) == ("sass", family)


def test_a_listing_that_writes_one_register_a_thousand_times_is_read_in_time() -> None:
    started = time.process_time()
    read_kernel(ptx("ld.global.f32 %f1, [%rd1];\nfma.rn.f32 %f1, %f1, %f1, %f1;\n" * 2_000), "k.ptx")
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("text", "name", "technique"),
    [
        ("__global__ void f(float* y) { y[threadIdx.x] = exp2f(y[threadIdx.x] * 1.44269504f); }", "f.cu", "strength-reduction"),
        ("import triton\n@triton.jit\ndef f(x):\n    y = tl.exp2(tl.load(x) * LOG2E)\n", "f.py", "strength-reduction"),
        ("__global__ void f(int* y) { cuda::atomic_ref<int>(*y).store(1, cuda::memory_order_release); }", "f.cu", "relaxed-fences"),
        ("__global__ void f(int* y) { y[0] = 1; __threadfence_block(); y[1] = 1; }", "f.cu", "relaxed-fences"),
        (ptx("fence.acq_rel.gpu;"), "f.ptx", "relaxed-fences"),
        ("import triton\n@triton.jit\ndef f(x):\n    tl.atomic_add(x, 1, sem='release')\n", "f.py", "relaxed-fences"),
    ],
)
def test_folded_factors_and_weaker_fences_are_techniques(text: str, name: str, technique: str) -> None:
    assert technique in [fact.id for fact in read_kernel(text, name).techniques]
    plain = "__global__ void f(float* y) { y[threadIdx.x] = expf(y[threadIdx.x]); __threadfence(); }"
    assert not {"strength-reduction", "relaxed-fences"} & {fact.id for fact in read_kernel(plain, "f.cu").techniques}
