"""What a sum of products computes, from how the two indices share their names: a matrix product, a matrix times a vector, a window."""

from __future__ import annotations

import re
from itertools import combinations, pairwise

from retriever.kernels.cuda_syntax import CudaSource, Function, node_text
from retriever.kernels.facts import Fact
from retriever.kernels.index_terms import Terms
from retriever.kernels.products import Operand, Product, read_products

MAX_STRIDE = 8
"""Largest constant step of a window whose length is not known; strides of convolutions are 1 to 4."""
_ORDER = ("attention", "stencil", "convolution", "gemm", "gemv", "reduction", "")
_WHY = {
    "attention": "sums of products around an exponential, then values weighted by it",
    "stencil": "one coefficient for several neighbours of a place",
    "convolution": "weights are summed over a window that moves with the output",
    "gemm": "sums products of two arrays in a loop, each with an output index of its own",
    "gemv": "sums products of a matrix and a vector: only one of the two has an output index of its own",
    "reduction": "sums products of two vectors: neither has an output index of its own",
}
_STRIDE_NAME = re.compile(r"(?i)^(?:stride|step|hop|dil(?:ation)?|s)(?:_?[xywhd])?$")
_CLAMP = re.compile(r"(?:\w*::)*(?:f?min|f?max|clamp\w*|abs)\(")
_MAXIMUM = re.compile(r"\b(?:fmaxf?|max|__hmax2?)\s*\(")


def product_family(source: CudaSource, kernel: Function) -> tuple[bool, Fact | None]:
    """Whether the kernel sums products at all, and the family that their indices show; None where they show none."""
    products, terms = read_products(source, kernel)
    shapes = [(shape, product.line) for product in products for shape in [_shape(product, terms)]]
    if any(shape for shape, _ in shapes) and _weighted(products) and _MAXIMUM.search(node_text(kernel.body)):
        shapes.append(("attention", products[0].line))
    best, line = min(shapes, key=lambda pair: (_ORDER.index(pair[0]), pair[1]), default=("", 0))
    return bool(products), Fact(best, line, _WHY[best]) if best else None


def _weighted(products: list[Product]) -> bool:
    """Loads multiplied by exponentials and summed."""
    return any(any(p.exponential) and any(loads and not soft for loads, soft in zip(p.factors, p.exponential)) for p in products)


def _shape(product: Product, terms: Terms) -> str:
    """The family of one accumulation; empty where its indices show none."""
    factors = [loads for loads, soft in zip(product.factors, product.exponential) if loads and not soft]
    indices = [{load.dims for load in loads} for loads in factors]
    if any(
        left & right for left, right in combinations(indices, 2)
    ):  # x * x, or a gradient at the place of its input: a norm or a variance
        return "reduction" if len(indices) == 2 and _dot(factors, product, terms) else ""
    shapes = []
    for left, right in combinations(factors, 2):
        found = min((_pair(a, b, product, terms) for a, b in _pairs(left, right)), key=_ORDER.index, default="")
        if found == "convolution" and any(_neighbours(loads) for loads in (left, right)):
            found = "stencil"
        if found == "gemv" and not all(_nested(loads, product, terms) for loads in (left, right)):
            found = ""
        shapes.append(found)
    return min(shapes, key=_ORDER.index, default="")


def _neighbours(loads: tuple[Operand, ...]) -> bool:
    """Several places of one array in one factor."""
    bases = [load.base for load in loads if not load.registers]
    return len(set(bases)) < len(bases)


def _nested(loads: tuple[Operand, ...], product: Product, terms: Terms) -> bool:
    """The outputs of the loads contain one another, as a weight's and its scale's do; a table of row by column has two."""
    outputs = sorted((_outputs(load, product, terms) for load in loads), key=len)
    return all(small <= large for small, large in pairwise(outputs))


def _dot(factors: list[tuple[Operand, ...]], product: Product, terms: Terms) -> bool:
    a, b = factors[0][0], factors[1][0]
    return a.base != b.base and not any(terms.atom(name).blocks and not terms.atom(name).loops for name in a.names)


def _pairs(left: tuple[Operand, ...], right: tuple[Operand, ...]) -> list[tuple[Operand, Operand]]:
    """Loads of two factors; none where both take in the same array, as a distance does."""
    if {a.base for a in left} & {b.base for b in right} and len(left) + len(right) > 2:
        return []
    return [(a, b) for a in left for b in right]


def _pair(a: Operand, b: Operand, product: Product, terms: Terms) -> str:
    summed = {loop.number for loop in product.summed}
    own = [_outputs(x, product, terms) - y.names for x, y in ((a, b), (b, a))]
    contracted = _loops(a, terms) & _loops(b, terms) & summed
    if not contracted:
        return "gemm" if a.registers and b.registers and all(own) and summed else ""
    if any(terms.atom(name).data and terms.atom(name).loops & summed for name in a.names | b.names):
        return ""
    windows = [_windows(a, b, product, terms), _windows(b, a, product, terms)]
    if "yes" in windows:
        return "convolution"
    if "perhaps" in windows:
        return ""
    if all(own):
        return "gemm"
    return "gemv" if any(own) and a.base != b.base and not _mixed(a, product, terms) and not _mixed(b, product, terms) else ""


def _loops(operand: Operand, terms: Terms) -> set[int]:
    return {number for name in operand.names for number in terms.atom(name).loops}


def _mixed(operand: Operand, product: Product, terms: Terms) -> bool:
    """One name of an index is made of a summing loop and of an output, as a place in a ring is."""
    summed = {loop.number for loop in product.summed}
    atoms = [terms.atom(name) for dim in operand.dims for factors, _ in dim for name in factors]
    return any(atom.loops & summed and (atom.threads or atom.loops & product.kept) for atom in atoms)


def _outputs(operand: Operand, product: Product, terms: Terms) -> frozenset[str]:
    """Names in an index that choose the output: places of threads and turns of loops that no sum goes over."""
    summed = {loop.number for loop in product.summed}

    def chooses(name: str) -> bool:
        atom = terms.atom(name)
        return not atom.loops & summed and (atom.threads or bool(atom.loops & product.kept))

    return frozenset(name for name in operand.names if chooses(name))


def _windows(a: Operand, b: Operand, product: Product, terms: Terms) -> str:
    """Whether the index of `a` moves a window over it: `yes`, `perhaps` or nothing.

    In a window the place of the output and the turn of the loop count the same unit, as `x + i` or `stride * x + i - pad` do; in a
    matrix they count rows and columns, whose units differ by the length of a row.
    """
    outputs = _outputs(a, product, terms) - b.names
    weak: set[tuple[int, str]] = set()
    padded = any(value < 0 and not any(_moves(name, terms) for name in factors) for dim in a.dims for factors, value in dim)
    named = False
    if any(_CLAMP.match(name) for name in a.names - b.names) and _mixed(a, product, terms):
        return "yes"
    for dim in a.dims:
        for loop, factors, size in _turns(dim, b, product, terms):
            for place, others, step in _places(dim, outputs):
                units = _difference(others, factors)
                if not any(units):
                    if loop.unit_step and step % size == 0 and 0 < step // size < min(loop.limit or MAX_STRIDE + 1, 4 * MAX_STRIDE):
                        return "yes"
                elif len(units[0]) <= 1 and len(units[1]) <= 1 and loop.unit_step and not _is_bound(units[0], product):
                    weak.add((loop.number, place))
                    named = named or all(_STRIDE_NAME.match(name) for unit in units for name in unit)
    if named and (padded or len({n for n, _ in weak}) > 1):
        return "yes"
    return "perhaps" if named else "yes" if weak and padded else ""


def _moves(name: str, terms: Terms) -> bool:
    atom = terms.atom(name)
    return bool(atom.loops) or atom.threads


def _turns(dim, b: Operand, product: Product, terms: Terms):
    """Terms of an index that are the turn of a summing loop which `b` is indexed by too: loop, other factors, coefficient."""
    of_b = {number for name in b.names for number in terms.atom(name).loops}
    for factors, size in dim:
        for name in factors:
            atom = terms.atom(name)
            loop = next((loop for loop in product.summed if loop.number in atom.loops & of_b), None)
            if loop is not None and not atom.threads and not atom.data:
                yield loop, _without(factors, name), abs(size)


def _places(dim, outputs: frozenset[str]):
    """Terms of an index that are a place of the output: name, other factors, coefficient."""
    for factors, size in dim:
        for name in factors:
            if name in outputs:
                yield name, _without(factors, name), abs(size)


def _without(factors: tuple[str, ...], name: str) -> tuple[str, ...]:
    at = factors.index(name)
    return factors[:at] + factors[at + 1 :]


def _difference(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Factors that only one of two terms has; how blocks count threads is no unit of its own."""
    first, second = [n for n in left if not n.startswith("blockDim.")], list(right)
    for name in list(first):
        if name in second:
            first.remove(name)
            second.remove(name)
    return first, second


def _is_bound(names: list[str], product: Product) -> bool:
    """One of the names bounds a summing loop: then it is the length of a row."""
    return any(name in loop.bound for name in names for loop in product.summed)
