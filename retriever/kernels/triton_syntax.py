"""Triton functions of a Python file: their loads, stores and calls, in order, with pointer expressions taken apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_TERMS = 40
"""Terms of one pointer expression; products of long sums would grow without bound."""
MAX_DEPTH = 24
MAX_FUNCTIONS = 40
"""Jit functions read of one file."""

_PASS_THROUGH = frozenset(
    {"to", "max_contiguous", "multiple_of", "max_constancy", "broadcast_to", "expand_dims", "cast", "reshape", "ravel"}
)


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of a pointer expression: a range over lanes or not, times factors."""

    lanes: bool
    factors: tuple[str, ...]
    exact: bool = True
    """False where the expression could not be taken apart."""


@dataclass(frozen=True, slots=True)
class MemoryCall:
    """One `tl.load`, `tl.store` or atomic."""

    kind: str
    line: int
    root: str
    """The pointer parameter that the address starts from, or the text of the address."""
    terms: tuple[Term, ...]
    loops: tuple[int, ...]
    """Lines of the loops around it, outermost first."""
    text: str


@dataclass(slots=True)
class JitFunction:
    """One `@triton.jit` function."""

    name: str
    line: int
    node: ast.FunctionDef
    params: tuple[str, ...]
    constexprs: frozenset[str]
    memory: list[MemoryCall] = field(default_factory=list)
    calls: list[tuple[str, ast.Call, tuple[int, ...]]] = field(default_factory=list)
    loops: list[ast.For | ast.While] = field(default_factory=list)


def jit_functions(tree: ast.Module) -> list[JitFunction]:
    """The jit functions of a module, read."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and any(map(_is_jit, node.decorator_list))]
    return [_read(node) for node in nodes[:MAX_FUNCTIONS]]


def entry_points(functions: list[JitFunction]) -> list[JitFunction]:
    """The functions that no other jit function calls."""
    called = {name for function in functions for name, _, _ in function.calls if name != function.name}
    return [function for function in functions if function.name not in called] or functions


def call_name(node: ast.expr) -> str:
    """The last name of what is called: `tl.load` is `load`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_jit(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return call_name(target) == "jit"


def _read(node: ast.FunctionDef) -> JitFunction:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    constexprs = frozenset(a.arg for a in arguments if a.annotation is not None and "constexpr" in ast.unparse(a.annotation))
    function = JitFunction(node.name, node.lineno, node, tuple(a.arg for a in arguments), constexprs)
    _Reader(function).block(node.body, ())
    return function


class _Reader:
    """Walks the statements in order, so that a name stands for what was last assigned to it."""

    def __init__(self, function: JitFunction):
        self.function = function
        self.env: dict[str, tuple[Term, ...]] = {}

    def block(self, statements: list[ast.stmt], loops: tuple[int, ...]) -> None:
        for statement in statements:
            self.statement(statement, loops)

    def statement(self, node: ast.stmt, loops: tuple[int, ...]) -> None:
        if isinstance(node, ast.For | ast.While):
            self.function.loops.append(node)
            self.expression(node.iter if isinstance(node, ast.For) else node.test, loops)
            if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
                self.env[node.target.id] = (Term(False, (node.target.id,)),)
            self.block(node.body, (*loops, node.lineno))
            return
        for name, value in ast.iter_fields(node):
            if name not in ("body", "orelse"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.expr):
                        self.expression(child, loops)
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self.assign(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(node.target, node.value)
        for part in ("body", "orelse"):
            self.block(getattr(node, part, []) or [], loops)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.env[target.id] = self.terms(value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for name, part in zip(target.elts, value.elts):
                self.assign(name, part)
        elif isinstance(target, ast.Tuple):
            for name in target.elts:
                if isinstance(name, ast.Name):
                    self.env[name.id] = (Term(False, (name.id,), exact=False),)

    def expression(self, node: ast.expr, loops: tuple[int, ...]) -> None:
        for call in ast.walk(node):
            if isinstance(call, ast.Call):
                name = call_name(call.func)
                self.function.calls.append((name, call, loops))
                if call.args and (name in ("load", "store") or name.startswith("atomic_")) and _is_language(call.func):
                    self.function.memory.append(self.memory_call(name, call, loops))

    def memory_call(self, name: str, call: ast.Call, loops: tuple[int, ...]) -> MemoryCall:
        terms = self.terms(call.args[0])
        bases = [t.factors[0] for t in terms if not t.lanes and len(t.factors) == 1 and t.factors[0] in self.function.params]
        root = next((base for base in bases if "ptr" in base.lower()), bases[0] if bases else ast.unparse(call.args[0])[:60])
        kind = name if name in ("load", "store") else "atomic"
        return MemoryCall(kind, call.lineno, root, terms, loops, ast.unparse(call.args[0])[:60])

    def terms(self, node: ast.expr, depth: int = 0) -> tuple[Term, ...]:
        """The summands of an expression."""
        if depth > MAX_DEPTH:
            return (Term(False, ("...",), exact=False),)
        if isinstance(node, ast.Name):
            return self.env.get(node.id, (Term(False, (node.id,)),))
        if isinstance(node, ast.Constant):
            return (Term(False, () if node.value == 1 else (repr(node.value)[:20],)),)
        if isinstance(node, ast.Subscript):
            return self.terms(node.value, depth + 1)
        if isinstance(node, ast.BinOp):
            return self.binary(node, depth)
        if isinstance(node, ast.Call):
            return self.call_terms(node, depth)
        return (Term(False, (ast.unparse(node)[:40],), exact=False),)

    def binary(self, node: ast.BinOp, depth: int) -> tuple[Term, ...]:
        left, right = self.terms(node.left, depth + 1), self.terms(node.right, depth + 1)
        if isinstance(node.op, ast.Add | ast.Sub):
            return (left + right)[:MAX_TERMS]
        if isinstance(node.op, ast.Mult):
            return tuple(Term(a.lanes or b.lanes, a.factors + b.factors, a.exact and b.exact) for a, b in _products(left, right))[
                :MAX_TERMS
            ]
        if isinstance(node.op, ast.Mod):
            return left
        return (Term(any(t.lanes for t in left + right), ("...",), exact=False),)

    def call_terms(self, node: ast.Call, depth: int) -> tuple[Term, ...]:
        name = call_name(node.func)
        if name == "arange":
            return (Term(True, ()),)
        if name in _PASS_THROUGH:
            inner = (
                node.args[0] if node.args and _is_language(node.func) else node.func.value if isinstance(node.func, ast.Attribute) else None
            )
            if inner is not None:
                return self.terms(inner, depth + 1)
        if name in ("program_id", "num_programs", "cdiv"):
            return (Term(False, (name,)),)
        return (Term(name not in ("min", "max"), (ast.unparse(node)[:40],), exact=False),)


def _products(left: tuple[Term, ...], right: tuple[Term, ...]) -> Iterator[tuple[Term, Term]]:
    return ((a, b) for a in left for b in right)


def _is_language(function: ast.expr) -> bool:
    """True for `tl.load`, false for `descriptor.load`."""
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id in ("tl", "language", "triton", "ttgl", "gl")
    )
