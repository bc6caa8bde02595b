"""SwiGLU in Triton: a program takes a tile of gates and the same tile of ups, 16 bytes of each a thread."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import TritonSpec

DETERMINISTIC = True
NUM_WARPS = 4
THREAD_BYTES = 16
"""Of gates, and as much of ups, that a thread loads: two 16-byte loads in flight."""


@triton.jit
def swiglu_tile(x_ptr, y_ptr, rows, columns, pitch, ROWS: tl.constexpr, BLOCK_N: tl.constexpr):
    blocks_a_row = tl.cdiv(columns, BLOCK_N)
    tile = tl.program_id(0)
    row = (tile // blocks_a_row).to(tl.int64) * ROWS + tl.arange(0, ROWS)  # int64: row * pitch passes 2^31 elements
    column = tile % blocks_a_row * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (row < rows)[:, None] & (column < columns)[None, :]  # [ROWS, BLOCK_N]
    gate_ptr = x_ptr + row[:, None] * pitch + column[None, :]
    gate = tl.load(gate_ptr, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
    up = tl.load(gate_ptr + columns, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
    # exp overflows to inf below a gate of -88: gate / inf is the zero that the product has become. No clamp, so no gate is special.
    y = gate / (1.0 + tl.exp(-gate)) * up
    tl.store(y_ptr + row[:, None] * columns + column[None, :], y.to(y_ptr.dtype.element_ty), mask=mask)


def run(x: torch.Tensor, *, num_warps: int = NUM_WARPS, thread_bytes: int = THREAD_BYTES) -> torch.Tensor:
    """silu(gate) * up of x, (M, 2N) with contiguous rows."""
    rows, columns = x.shape[0], x.shape[1] // 2
    y = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    tile = 32 * num_warps * thread_bytes // x.element_size()
    block_n = min(tile, triton.next_power_of_2(columns))
    grid = (triton.cdiv(rows, tile // block_n) * triton.cdiv(columns, block_n),)
    swiglu_tile[grid](x, y, rows, columns, x.stride(0), ROWS=tile // block_n, BLOCK_N=block_n, num_warps=num_warps)
    return y


def compile_specs() -> list[TritonSpec]:
    """Long rows of each dtype, and short ones of bf16."""
    specs = []
    for name, size, block_n in (("fp32", 4, 512), ("fp16", 2, 1024), ("bf16", 2, 1024), ("bf16", 2, 128)):
        signature = {"x_ptr": f"*{name}", "y_ptr": f"*{name}", "rows": "i32", "columns": "i32", "pitch": "i32"}
        tile = 32 * NUM_WARPS * THREAD_BYTES // size
        constexprs = {"ROWS": tile // block_n, "BLOCK_N": block_n}
        specs.append(TritonSpec(swiglu_tile, signature, constexprs, num_warps=NUM_WARPS, divisible_by_16=tuple(signature)))
    return specs
