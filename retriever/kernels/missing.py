"""Techniques that kernels of a family use, and when their absence counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from retriever.kernels.facts import Fact


@dataclass(frozen=True, slots=True)
class Expected:
    """One technique that a family uses."""

    technique: str
    why: str
    unless: tuple[str, ...] = ()
    """Techniques that serve the same end."""
    languages: tuple[str, ...] = ("cuda",)
    """Where the author has to write it: the Triton compiler makes shuffles, swizzles, wide accesses and pipelined loads itself."""
    only_with: tuple[str, ...] = ()
    """Symptoms without which it does not count."""


_BOTH = ("cuda", "triton")
_WIDE_MMA = ("wgmma-pipeline", "tcgen05-mma")
_VECTORS = Expected("vectorized-access", "no 16-byte loads or stores", ("tma-bulk-copy", "async-copy"))
_SHUFFLES = Expected("warp-shuffle-reduction", "the row is not reduced across lanes by shuffles")
_ONE_PASS = Expected("single-pass-row", "the row is read more than once", only_with=("dram-bandwidth",), languages=_BOTH)
_ROW = (
    _ONE_PASS,
    _SHUFFLES,
    _VECTORS,
    Expected("coalescing", "neighbouring lanes read far apart", only_with=("uncoalesced-access",), languages=_BOTH),
)
_STREAM = (_VECTORS, Expected("coalescing", "neighbouring lanes access far apart", only_with=("uncoalesced-access",), languages=_BOTH))
_FEED = (
    Expected("shared-memory-tiling", "operands are not shared through shared memory"),
    Expected("software-pipelining", "loads of the next tile do not overlap with the work on this one", ("warp-specialization",)),
    Expected("async-copy", "tiles pass through registers on their way to shared memory", ("tma-bulk-copy",)),
    Expected("swizzle", "shared tiles are neither swizzled nor padded", ("padding", "tma-bulk-copy")),
)

EXPECTED: dict[str, tuple[Expected, ...]] = {
    "softmax": (*_ROW, Expected("online-softmax", "maximum and sum take a pass each", ("single-pass-row",), _BOTH, ("dram-bandwidth",)),
                Expected("fast-math", "the exponential is not exp2 or __expf", languages=_BOTH)),
    "norm": _ROW,
    "loss": _ROW,
    "reduction": (_SHUFFLES, _VECTORS, Expected("two-stage-reduction", "every element goes to one address", ("warp-aggregated-atomics",),
                                               _BOTH, ("atomics-contention",)), _STREAM[1]),
    "gemm": (
        Expected("tensor-core-mma", "products are scalar multiply-adds", _WIDE_MMA, _BOTH),
        *_FEED,
        Expected("register-tiling", "a thread makes one output", (*_WIDE_MMA, "tensor-core-mma")),
        _VECTORS,
        Expected("tile-rasterization", "tiles run row by row: concurrent blocks share little in L2", ("persistent-kernel",), _BOTH),
        Expected("tma-bulk-copy", "tiles are not fetched by the tensor memory accelerator", languages=_BOTH),
        Expected("warp-specialization", "no warps of their own for the copies", languages=_BOTH),
        Expected("persistent-kernel", "a block ends with its tile, so prologue and epilogue do not overlap", ("stream-k",), _BOTH),
    ),
    "gemv": (_SHUFFLES, *_STREAM),
    "attention": (
        Expected("tensor-core-mma", "products are scalar multiply-adds", _WIDE_MMA, _BOTH),
        Expected("online-softmax", "scores are not rescaled on the way, so they are stored or read twice", languages=_BOTH),
        *_FEED,
        Expected("fast-math", "the exponential is not exp2", languages=_BOTH),
        Expected("tma-bulk-copy", "tiles are not fetched by the tensor memory accelerator", languages=_BOTH),
        Expected("warp-specialization", "copies, products and softmax share their warps", languages=_BOTH),
    ),
    "transpose": (
        Expected("shared-memory-tiling", "one side of the transposition is strided in global memory"),
        Expected("padding", "nothing keeps the lanes of a column on different banks", ("swizzle",)),
        _VECTORS,
        Expected("coalescing", "one side is strided in global memory", ("shared-memory-tiling",), _BOTH, ("uncoalesced-access",)),
    ),
    "sort": (Expected("warp-aggregated-atomics", "one global atomic an element", only_with=("atomics-contention",)), _VECTORS),
    "copy": _STREAM,
    "elementwise": _STREAM,
    "activation": _STREAM,
    "rope": _STREAM,
    "quantization": _STREAM,
    "optimizer": _STREAM,
    "embedding": _STREAM,
    "convolution": (
        Expected("shared-memory-tiling", "inputs are read again for every output"),
        Expected("tensor-core-mma", "products are scalar multiply-adds", _WIDE_MMA, _BOTH),
    ),
    "moe": (
        Expected("tensor-core-mma", "products are scalar multiply-adds", _WIDE_MMA, _BOTH),
        Expected("software-pipelining", "loads do not overlap with products"),
    ),
    "stencil": (Expected("shared-memory-tiling", "neighbours are read again from global memory"),),
}  # fmt: skip
"""Family to what its kernels use, the most telling first."""


def missing_techniques(
    language: str, families: Sequence[Fact], techniques: Iterable[Fact], symptoms: Iterable[Fact], kernels: Sequence[tuple[str, int]]
) -> tuple[Fact, ...]:
    """What the first family expects and the kernel lacks, at the line where the kernel starts; nothing without a kernel."""
    if not families or not kernels:
        return ()
    present, seen = {fact.id for fact in techniques}, {fact.id for fact in symptoms}
    line = kernels[0][1]
    found = []
    for expected in EXPECTED.get(families[0].id, ()):
        applies = language in expected.languages and (not expected.only_with or bool(seen.intersection(expected.only_with)))
        if applies and expected.technique not in present and not present.intersection(expected.unless):
            found.append(Fact(expected.technique, line, expected.why))
    return tuple(found)
