"""Families that the instructions of a PTX or SASS listing show; nothing where several kinds of kernels have the same mix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from retriever.kernels.facts import Fact


@dataclass(frozen=True, slots=True)
class Mix:
    """What one kernel of a listing does, whichever the instruction set. Texts are the instruction that shows it, empty for none."""

    line: int
    mma: str = ""
    exponential: str = ""
    maximum: bool = False
    root: str = ""
    across: str = ""
    """Values of lanes are combined: by a shuffle down or across, or by one instruction."""
    upward: str = ""
    """Values are handed to later lanes."""
    barrier: bool = False
    loop: bool = False
    reciprocal: bool = False
    """Of a sum with one, as in a sigmoid."""
    hyperbolic: str = ""
    narrowing: str = ""
    """Values are made into or from 8 or 4 bits."""
    counts_at_data: str = ""
    """An integer atomic whose address was loaded or computed from what was."""
    adds_atomically: str = ""
    stores: bool = False
    products: str = ""
    """`gemm`, `gemv` or `dot`: whose place the two operands of multiply-adds follow; empty where that is unknown."""
    maps: str = ""
    """`copy` or `elementwise`: stores go where the loads came from."""


def mix_families(mix: Mix) -> Iterator[Fact]:
    """The families of one kernel, most likely first."""
    for family, why in _read(mix):
        yield Fact(family, mix.line, why)


def _read(mix: Mix) -> Iterator[tuple[str, str]]:
    softmax = bool(mix.exponential and mix.maximum and (mix.across or mix.barrier or mix.loop))
    if mix.mma:
        if softmax:
            yield "attention", f"{mix.mma} around {mix.exponential} and a maximum"
        else:
            yield "gemm", f"matrix multiply: {mix.mma}"
    elif mix.counts_at_data:
        yield "sort", f"{mix.counts_at_data} at addresses that are data: a histogram"
    elif mix.narrowing:
        yield "quantization", f"{mix.narrowing} and no matrix multiply"
    elif softmax and mix.products:
        yield "attention", f"sums of products around {mix.exponential} and a maximum"
    elif softmax:
        yield "softmax", f"{mix.exponential}, a maximum and values combined over a row"
    elif mix.root and (mix.across or (mix.barrier and not mix.products)):
        yield "norm", f"{mix.root} of values combined over a row"
    elif mix.upward and not mix.across:
        yield "scan", f"{mix.upward}: values handed to later lanes"
    elif mix.products == "gemm":
        yield "gemm", "multiply-adds of two loads that follow different threads"
    elif mix.products == "gemv" and mix.across:
        yield "gemv", "multiply-adds of two loads of which one follows the row, the other the lanes alone"
        yield "reduction", f"{mix.across} over the row"
    elif mix.across and not mix.exponential:
        yield "reduction", f"{mix.across} and neither exponential nor root"
    elif mix.adds_atomically and mix.loop and not mix.stores:
        yield "reduction", f"{mix.adds_atomically}: every block adds to one result"
    elif mix.hyperbolic or (mix.exponential and mix.reciprocal and not mix.loop):
        yield "activation", f"{mix.hyperbolic or mix.exponential + ' and a reciprocal'} of each element"
    elif mix.maps:
        yield mix.maps, "each output element comes from the inputs at the same place"
