"""Wrong on purpose: every product of an element of A and one of B is stored before they are added: M * N * K floats, which no GPU holds."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("launch", "resource")
BLOCK = 128


@triton.jit
def multiply_all(a_ptr, b_ptr, products_ptr, a_stride, b_stride, M, N, BLOCK: tl.constexpr):
    k, row = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    a = tl.load(a_ptr + row * a_stride + k).to(tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        b = tl.load(b_ptr + k * b_stride + columns, mask=columns < N).to(tl.float32)
        tl.store(products_ptr + (k * M + row) * N + columns, a * b, mask=columns < N)


@triton.jit
def add_up(products_ptr, c_ptr, elements, K, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    products = products_ptr + offsets
    total = tl.zeros([BLOCK], tl.float32)
    for _ in range(K):
        total += tl.load(products, mask=offsets < elements, other=0.0)
        products += elements
    tl.store(c_ptr + offsets, total.to(c_ptr.dtype.element_ty), mask=offsets < elements)


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Right for small matrices; 256 GiB for a product of edge 4,096."""
    (m, k), n = a.shape, b.shape[1]
    products = torch.empty((k, m, n), dtype=torch.float32, device=a.device)
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    multiply_all[(k, m)](a, b, products, a.stride(0), b.stride(0), m, n, BLOCK=BLOCK)
    add_up[(triton.cdiv(m * n, BLOCK),)](products, c, m * n, k, BLOCK=BLOCK)
    return c
