"""What an operator of the zoo promises: its cases, inputs, reference, tolerances, work and baselines.

A contract is the module `kernel_wiki/zoo/<operator>/contract.py`. It defines

    OPERATOR: str                                  its folder name
    SIGNATURE: str                                 what `run` of every implementation takes and returns, with shapes and dtypes
    BOUND: "bandwidth" | "matrix"                  which ceiling of the same run its speed is compared with
    CASES: tuple[Case, ...]                        checked; some of them are timed
    TOLERANCES: dict[str, Tolerance]               by dtype name
    make_inputs(case, generator, device) -> tuple  the arguments of `run`, on `device`
    reference(*inputs) -> Tensor | tuple           the answer in float64, sharing no code with any implementation
    work(case) -> Work                             the fewest bytes moved, and the flops
    BASELINES: dict[str, Callable]                 functions of `run`'s signature
    DIMS: dict[str, Dim]                           the sizes that `run` must take, from which the judge draws cases nobody has seen

and, where they apply,

    admits(shape) -> bool                          which combinations of sizes are allowed; without it, all within DIMS
    VIEWS: dict[str, tuple[int, ...]]              "offset" and "strided": positions of the inputs that may be such views
    ALLOWED_OPS: tuple[str, ...]                   torch operators (`aten::sort`) that `run` may call beyond allocation, views, fills and
                                                   copies; ("*",) allows every one

and an implementation is `<impl>.py` beside it with one entry point `run` of that signature, plus

    compile_specs() -> list[TritonSpec | CudaSpec] what the compile lane builds without a GPU
    DETERMINISTIC = True                           where the same data gives the same bits in every call; the judge holds it to that
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

DISTRIBUTIONS = ("normal", "large", "tiny", "constant", "sparse", "sorted", "heavy-tailed", "special")
"""What `draw` knows. A contract may name others, such as "ties" or "all-masked", and draws them itself."""
FRESH_DISTRIBUTIONS = ("normal", "sparse", "heavy-tailed")
"""Of the cases that the judge draws: every operator takes these, whatever its tolerances say of extreme values."""
SPECIAL_SHARE = 1 / 512
"""Of the elements under "special", for each of NaN, +inf and -inf."""


@dataclass(frozen=True, slots=True)
class Case:
    """One set of shapes and a dtype on which an implementation is checked."""

    shape: dict[str, int]
    dtype: str
    """fp32, fp16, bf16 ... as in the vocabulary."""
    distribution: str = "normal"
    timed: bool = False
    """Timed against the baselines as well; its data is several times the L2 unless the name says otherwise."""
    huge: bool = False
    """Past 2**31 bytes or elements, where a 32-bit index overflows: called once, and left out where the memory is too small."""

    @property
    def name(self) -> str:
        """For example `M37-N4096-bf16-large`."""
        sizes = "-".join(f"{key.upper()}{value}" for key, value in self.shape.items())
        tail = "" if self.distribution == "normal" else f"-{self.distribution}"
        return f"{sizes}-{self.dtype}{tail}"


@dataclass(frozen=True, slots=True)
class Dim:
    """The sizes that one dimension may have."""

    low: int
    high: int
    """Of drawn cases, so that a check stays quick; an implementation must take larger ones too."""
    multiple: int = 1
    """Every size is a multiple of this."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far an answer may be from the float64 reference."""

    norm: float
    """Largest ||out - ref|| / ||ref||."""
    rtol: float
    """Per element: |out - ref| <= atol + rtol * |ref|."""
    atol: float


@dataclass(frozen=True, slots=True)
class Work:
    """The least work that a case needs."""

    bytes_moved: int
    """Each input read once and each output written once, in bytes of device memory."""
    flops: int
    """Floating-point operations; a fused multiply-add counts two."""


@dataclass(frozen=True, slots=True)
class TritonSpec:
    """One specialisation of a Triton kernel that must compile for every target of the entry."""

    kernel: Any
    """The `@triton.jit` function."""
    signature: dict[str, str]
    """Argument name to Triton type: `*bf16`, `i32`, `fp32`; constexpr arguments are left out."""
    constexprs: dict[str, Any]
    num_warps: int = 4
    num_stages: int = 3
    divisible_by_16: tuple[str, ...] = ()
    """Arguments (pointers, sizes, strides) that the launch specialises as multiples of 16."""


@dataclass(frozen=True, slots=True)
class CudaSpec:
    """One CUDA C++ source that must compile for every target of the entry."""

    source: str
    """File name beside the implementation."""
    kernels: tuple[str, ...]
    """`extern "C"` names of the kernels."""
    dynamic_smem_bytes: int = 0
    threads_per_block: int = 256
    defines: dict[str, str] = field(default_factory=dict)


Run = Callable[..., Any]


def torch_dtype(name: str) -> Any:
    """The torch dtype of a vocabulary dtype name.

    Raises:
        KeyError: the zoo has no operator of that dtype yet.
    """
    import torch

    return {
        "fp64": torch.float64,
        "fp32": torch.float32,
        "fp16": torch.float16,
        "bf16": torch.bfloat16,
        "fp8": torch.float8_e4m3fn,
        "int8": torch.int8,
        "int32": torch.int32,
        "int64": torch.int64,
    }[name]


def draw(shape: tuple[int, ...], case: Case, generator: Any, device: Any) -> Any:
    """A tensor of the case's dtype and distribution, contiguous, drawn from `generator`."""
    import torch

    values = torch.randn(shape, generator=generator, device=device, dtype=torch.float32)
    if case.distribution == "large":
        values = values * 60.0
    elif case.distribution == "tiny":
        values = values * 1e-3
    elif case.distribution == "constant":
        values = torch.full_like(values, 0.75)
    elif case.distribution == "sparse":
        values = values * (torch.rand(shape, generator=generator, device=device) < 0.05)
    elif case.distribution == "sorted":
        values = values.sort(dim=-1).values
    elif case.distribution == "heavy-tailed":  # Student's t with two degrees of freedom: infinite variance
        tail = -torch.log1p(-torch.rand(shape, generator=generator, device=device))
        values = (values / tail.clamp_min(1e-4).sqrt()).clamp(-1e4, 1e4)
    elif case.distribution == "special":
        share = torch.rand(shape, generator=generator, device=device)
        for index, special in enumerate((float("nan"), float("inf"), float("-inf"))):
            values[(share >= index * SPECIAL_SHARE) & (share < (index + 1) * SPECIAL_SHARE)] = special
    elif case.distribution != "normal":
        raise ValueError(f'unknown distribution "{case.distribution}"; one of {", ".join(DISTRIBUTIONS)}')
    return values.to(torch_dtype(case.dtype))


def multiprocessor_count(tensor: Any) -> int:
    """Streaming multiprocessors of the tensor's device; 4 for a tensor on the CPU (Triton's interpreter)."""
    import torch

    if not tensor.is_cuda:
        return 4
    return torch.cuda.get_device_properties(tensor.device).multi_processor_count


def smem_limit_bytes(tensor: Any, on_cpu: int) -> int:
    """Shared memory that one block may opt in to on the tensor's device; `on_cpu` for a tensor on the CPU (Triton's interpreter)."""
    return _smem_limit_bytes(tensor.device.index) if tensor.is_cuda else on_cpu


@functools.cache  # asking the driver took about 1 ms a call on an H200's host, longer than many kernels
def _smem_limit_bytes(device: int) -> int:
    import triton

    return triton.runtime.driver.active.utils.get_device_properties(device)["max_shared_mem"]
