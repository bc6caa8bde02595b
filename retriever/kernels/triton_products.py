"""Sums of products in a Triton function without `tl.dot`: a matrix times a vector, or weights over a moving window."""

from __future__ import annotations

import ast

from retriever.kernels.facts import Fact
from retriever.kernels.triton_syntax import JitFunction, MemoryCall, Term, call_name

_OTHER_WORK = frozenset({"dot", "dot_scaled", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "max", "maximum", "argmax", "cumsum"})
"""A function that also does this computes more than a product."""
MAX_NODES = 4_000


def product_hint(function: JitFunction) -> Fact | None:
    """The family that the products of a function show; None where they show none."""
    names = {name for name, _, _ in function.calls}
    if names & _OTHER_WORK:
        return None
    pairs = _multiplied(function)
    for one, other in pairs:
        if _window(function, one, other) or _window(function, other, one):
            return Fact("convolution", one.line, "weights are summed over a window that moves with the output")
    if "sum" in names and len({m.root for m in function.memory if m.kind != "load"}) == 1:
        for one, other in pairs:
            matrix, vector = _outputs(one), _outputs(other)
            if matrix != vector and (all(a >= b for a, b in zip(matrix, vector)) or all(a <= b for a, b in zip(matrix, vector))):
                return Fact("gemv", one.line, "sums products of a matrix and a vector: only one of the two has an output index of its own")
    return None


def _multiplied(function: JitFunction) -> list[tuple[MemoryCall, MemoryCall]]:
    """Loads of two arrays that are multiplied with each other."""
    loads = {(m.line, m.text): m for m in function.memory if m.kind == "load"}
    held: dict[str, list[MemoryCall]] = {}
    pairs = []
    for node in list(ast.walk(function.node))[:MAX_NODES]:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            held[node.targets[0].id] = [*held.get(node.targets[0].id, []), *_loads(node.value, loads, {})]
    for node in list(ast.walk(function.node))[:MAX_NODES]:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            left, right = _loads(node.left, loads, held), _loads(node.right, loads, held)
            pairs += [(a, b) for a in left for b in right if a.root != b.root]
    return pairs


def _loads(node: ast.expr, loads: dict[tuple[int, str], MemoryCall], held: dict[str, list[MemoryCall]]) -> list[MemoryCall]:
    found = []
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and call_name(each.func) == "load" and each.args:
            known = loads.get((each.lineno, ast.unparse(each.args[0])[:60]))
            found += [known] if known else []
        elif isinstance(each, ast.Name):
            found += held.get(each.id, [])
    return found


def _outputs(access: MemoryCall) -> tuple[int, int]:
    """How many terms of an address come from the program, and how many from ranges."""
    return sum("program_id" in term.factors for term in access.terms), sum(term.lanes for term in access.terms)


def _window(function: JitFunction, moving: MemoryCall, weights: MemoryCall) -> bool:
    """The turn of a loop counts in the address of one load what a place of the output counts, and the other load follows the loop alone."""
    for loop in function.loops:
        if not (isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and _counts_by_one(loop)):
            continue
        turn = loop.target.id
        if not all(term.exact for access in (moving, weights) for term in access.terms):
            continue
        units = {_unit(term, turn) for term in moving.terms if turn in term.factors}
        places = {_unit(term, "program_id") for term in moving.terms if term.lanes and turn not in term.factors}
        still = {_unit(term, "program_id") for term in weights.terms if term.lanes and turn not in term.factors}
        if any(turn in term.factors for term in weights.terms) and units & (places - still):
            return True
    return False


def _counts_by_one(loop: ast.For) -> bool:
    return isinstance(loop.iter, ast.Call) and call_name(loop.iter.func) in ("range", "static_range") and len(loop.iter.args) < 3


def _unit(term: Term, name: str) -> tuple[str, ...]:
    """What one step of a name is worth: the other factors."""
    return tuple(sorted(factor for factor in term.factors if factor != name))
