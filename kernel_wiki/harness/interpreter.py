"""Triton's interpreter made to treat bf16 as a GPU does. Seen in Triton 3.9: it keeps bf16 as 16-bit integers, so that `tl.dot` multiplies
the integers, and it truncates float32 to bf16 where a GPU rounds to nearest even."""

from __future__ import annotations

from typing import Any

import numpy as np


def repair() -> None:
    """Replace the interpreter's dot and cast in this process; without effect on compiled kernels."""
    import triton.language as tl
    from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

    dot, cast = InterpreterBuilder.create_dot, InterpreterBuilder.cast_impl

    def widened(handle: Any) -> Any:
        is_bf16 = handle.dtype.scalar == tl.bfloat16 and handle.data.dtype == np.uint16
        return TensorHandle(widen(handle.data), tl.float32) if is_bf16 else handle

    def create_dot(self: Any, a: Any, b: Any, *rest: Any) -> Any:
        return dot(self, widened(a), widened(b), *rest)

    def cast_impl(self: Any, src: Any, dst_type: Any) -> Any:
        if src.dtype.scalar == tl.float32 and dst_type.scalar == tl.bfloat16:
            return TensorHandle(round_to_bf16(src.data), tl.bfloat16)
        return cast(self, src, dst_type)

    InterpreterBuilder.create_dot, InterpreterBuilder.cast_impl = create_dot, cast_impl


def widen(bits: np.ndarray) -> np.ndarray:
    """bf16 as uint16 -> float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def round_to_bf16(values: np.ndarray) -> np.ndarray:
    """float32 -> bf16 as uint16, to nearest even; NaN stays NaN."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)
