"""Floating-point operations of a launch by arithmetic type, an FMA counted as two."""

from __future__ import annotations

from retriever.metric_expressions import Lookup

PIPES = (("f", "FP32", 1, "fp32"), ("d", "FP64", 1, "fp64"), ("h", "FP16 pipe", 2, ""))
"""Letter in the metric, name, operations a lane and instruction, key of the data sheet's peak."""
TENSOR = (
    ("bf16_dst_fp32", "BF16 tensor", "bf16", ("hmma_src_bf16_dst_fp32_sparsity_off", "hgmma_src_bf16_dst_fp32_sparsity_off")),
    ("fp16", "FP16 tensor", "fp16", ("hmma_src_fp16_dst_fp32_sparsity_off", "hgmma_src_fp16_sparsity_off")),
    ("tf32_dst_fp32", "TF32 tensor", "tf32", ("hmma_src_tf32_dst_fp32_sparsity_off", "hgmma_src_tf32_dst_fp32_sparsity_off")),
    ("fp8_sparsity_off", "FP8 tensor", "fp8", ()),
    ("fp64", "FP64 tensor", "fp64-tensor", ()),
)
"""Operand type as `sm__ops_path_tensor_src_*` writes it (Nsight Compute 2025, compute capability 9.0), name, key of the data sheet's
peak, and the two instruction paths whose peaks differ: mma.sync, then wgmma."""
WEIGHTS = (("add", 1), ("mul", 1), ("fma", 2))

TENSOR_BUSY = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
TENSOR_IDLE = 1.0  # per cent: kernels without an MMA instruction read up to 0.5 in our reports


def operations(lookup: Lookup) -> float | None:
    """All operations; None where the roofline's counters or those of used tensor cores are missing."""
    by_pipe = pipe_operations(lookup, lookup("smsp__cycles_elapsed.avg"))
    if by_pipe is None:
        return None
    tensor = [count for type, *_ in TENSOR if (count := lookup(tensor_metric(type))) is not None]
    if not tensor and (lookup(TENSOR_BUSY) or 0.0) > TENSOR_IDLE:
        return None
    return sum(by_pipe.values()) + sum(tensor)


def pipe_operations(lookup: Lookup, cycles: float | None) -> dict[str, float] | None:
    """Operations outside of the tensor cores by the names of PIPES, in `cycles` (or a second, given cycles per second).

    None where `cycles` or one of the FP32 counters is.
    """
    if cycles is None:
        return None
    found = {}
    for letter, name, width, _ in PIPES:
        rates = [lookup(f"smsp__sass_thread_inst_executed_op_{letter}{kind}_pred_on.sum.per_cycle_elapsed") for kind, _ in WEIGHTS]
        if letter == "f" and None in rates:
            return None
        found[name] = width * cycles * sum(weight * (rate or 0.0) for (_, weight), rate in zip(WEIGHTS, rates))
    return found


def tensor_metric(type: str) -> str:
    """The counter of operations on tensor cores with operands of a type of TENSOR."""
    return f"sm__ops_path_tensor_src_{type}.sum"
