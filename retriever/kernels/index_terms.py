"""Index expressions of CUDA C++ as sums of products of names, so that two of them can be compared term by term."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from retriever.kernels.cuda_syntax import CudaSource, Node, node_text, walk
from retriever.kernels.lanes import integer

MAX_TERMS = 60
"""Terms of one expression; products of long sums would grow without bound."""

Sum = dict[tuple[str, ...], int]
"""Factors, sorted, to their coefficient: `row * K + k - 1` is `{(K, row): 1, (k,): 1, (): -1}`."""


@dataclass(frozen=True, slots=True)
class Atom:
    """What a name of a sum stands for."""

    loops: frozenset[int] = frozenset()
    """Numbers of the loops whose variables it is made of."""
    threads: bool = False
    """It is made of the place of the thread or block."""
    blocks: bool = False
    data: bool = False
    """It was loaded from memory."""


@dataclass(slots=True)
class Terms:
    """Builds sums, and keeps what their names stand for."""

    source: CudaSource
    atoms: dict[str, Atom] = field(default_factory=dict)
    opaques: dict[tuple[str, str], str] = field(default_factory=dict)

    def atom(self, name: str) -> Atom:
        """What a name stands for; a plain size where nothing is known."""
        return self.atoms.get(name, Atom())

    def joined(self, sums: list[Sum]) -> Atom:
        """What an expression of these sums is made of."""
        parts = [self.atom(name) for each in sums for factors in each for name in factors]
        return Atom(
            frozenset().union(*(part.loops for part in parts)),
            any(part.threads for part in parts),
            any(part.blocks for part in parts),
            any(part.data for part in parts),
        )

    def opaque(self, text: str, sums: list[Sum]) -> Sum:
        """One new name for an expression that is no sum of products, such as `k / 9`."""
        key = (text, str([sorted(each.items()) for each in sums]))
        name = self.opaques.setdefault(key, f"{' '.join(text.split())[:40]}~{len(self.opaques)}")
        self.atoms[name] = self.joined(sums)
        return {(name,): 1}

    def constant(self, name: str) -> Sum | None:
        """A constant of the file, where it is a plain number."""
        node = self.source.constants.get(name)
        text = node_text(node).strip("() ") if node is not None else ""
        return {(): integer(text)} if text.isdigit() else None

    def builtin(self, text: str) -> Sum | None:
        """The place of the thread or block."""
        if not re.fullmatch(r"(?:threadIdx|blockIdx)\.[xyz]", text):
            return {(text,): 1} if re.fullmatch(r"(?:blockDim|gridDim)\.[xyz]", text) else None
        self.atoms[text] = Atom(threads=True, blocks=text.startswith("block"))
        return {(text,): 1}


def added(left: Sum, right: Sum, sign: int = 1) -> Sum:
    """The sum of two; terms that cancel are left out."""
    total = dict(left)
    for factors, coefficient in right.items():
        total[factors] = total.get(factors, 0) + sign * coefficient
    return {factors: value for factors, value in list(total.items())[:MAX_TERMS] if value}


def multiplied(left: Sum, right: Sum) -> Sum:
    """The product of two sums."""
    total: Sum = {}
    for a, x in left.items():
        for b, y in right.items():
            total = added(total, {tuple(sorted(a + b)): x * y})
    return total


def number(value: Sum) -> int | None:
    """The value of a sum without names."""
    return value.get((), 0) if set(value) <= {()} else None


def identifiers(node: Node | None) -> set[str]:
    """Names in an expression."""
    return {node_text(n) for n in walk(node) if n.type == "identifier"} if node is not None else set()
