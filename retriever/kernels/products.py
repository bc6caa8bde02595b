"""Sums of products in a CUDA kernel: which two arrays meet in an accumulation, at which indices, under which loops."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from retriever.kernels.cuda_syntax import CudaSource, Function, Node, line_of, node_text, walk
from retriever.kernels.index_terms import Atom, Sum, Terms, added, identifiers, multiplied, number

MAX_NODES = 40_000
"""Nodes visited in one kernel, inlined functions included."""
MAX_INLINE_DEPTH = 3
MAX_OPERANDS = 12
"""Loads that one value is followed to."""
_FUSED = re.compile(r"^(?:__)?(?:h?fma[f2]?|fmaf|fma_r[nduz]|fmaf_r[nduz]|hfma2|dp[24]a(?:_\w+)?)$")
_EXPONENTIAL = re.compile(r"^(?:__)?(?:h2?)?exp(?:2|10)?f?$")
_LOOPS = ("for_statement", "while_statement", "do_statement")


@dataclass(frozen=True, slots=True)
class Operand:
    """One load that a product takes in."""

    base: str
    dims: tuple[tuple[tuple[tuple[str, ...], int], ...], ...]
    """The index of each dimension, as the items of its sum."""
    filled_from: frozenset[str] = frozenset()
    """Names that chose what an array on the chip holds."""
    registers: bool = False
    """It is an array of one thread."""

    @property
    def names(self) -> frozenset[str]:
        """Names in its indices, and those that chose its contents."""
        return self.filled_from.union(name for dim in self.dims for factors, _ in dim for name in factors)


@dataclass(frozen=True, slots=True)
class LoopOf:
    """One loop around a product."""

    number: int
    line: int
    unit_step: bool
    bound: frozenset[str]
    limit: int | None
    """Its bound where that is a plain number."""


@dataclass(frozen=True, slots=True)
class Product:
    """One accumulation `sum += a * b`: the loads of each factor."""

    line: int
    factors: tuple[tuple[Operand, ...], ...]
    exponential: tuple[bool, ...]
    """The factor comes from an exponential."""
    summed: tuple[LoopOf, ...]
    """Loops over which the sum goes."""
    kept: frozenset[int]
    """Numbers of the loops around it that choose an output."""


@dataclass(frozen=True, slots=True)
class _Value:
    """What a name or an expression holds."""

    sum: Sum = field(default_factory=dict)
    base: str = ""
    dims: tuple[Sum, ...] = ()
    """A pointer or array: its base and the subscripts so far; the last one still takes an offset."""
    loads: tuple[Operand, ...] = ()
    exponential: bool = False


@dataclass(slots=True)
class Products:
    """The walk through one kernel."""

    source: CudaSource
    terms: Terms
    found: list[Product] = field(default_factory=list)
    env: dict[str, _Value] = field(default_factory=dict)
    spaces: dict[str, str] = field(default_factory=dict)
    contents: dict[str, _Value] = field(default_factory=dict)
    """What was stored into the arrays of the kernel."""
    loops: tuple[LoopOf, ...] = ()
    set_in: dict[str, tuple[LoopOf, ...]] = field(default_factory=dict)
    """Loops around the last plain assignment of a name."""
    loop_count: int = 0
    nodes: int = 0
    depth: int = 0
    returned: _Value = field(default_factory=_Value)

    # Statements

    def statement(self, node: Node | None) -> None:
        """Walks a statement in source order."""
        self.nodes += 1
        if node is None or self.nodes > MAX_NODES:
            return
        if node.type in _LOOPS:
            self.loop(node)
        elif node.type == "declaration":
            self.declaration(node)
        elif node.type == "return_statement":
            self.returned = self.value(node.named_children[0]) if node.named_children else _Value()
        elif node.type.endswith("_expression"):
            self.value(node)
        else:
            for child in node.named_children:
                self.statement(child)

    def declaration(self, node: Node) -> None:
        shared = "__shared__" in node_text(node)[:200]
        for declarator in node.children_by_field_name("declarator"):
            given = declarator.child_by_field_name("value")
            names = declarator.child_by_field_name("declarator") if declarator.type == "init_declarator" else declarator
            array = names is not None and any(n.type == "array_declarator" for n in walk(names))
            name = next((node_text(n) for n in walk(names) if n.type == "identifier"), "") if names is not None else ""
            if array and name:
                self.spaces[name], self.env[name] = ("shared" if shared else "local"), _Value(base=name, dims=({},))
            elif name:
                self.assign(name, self.value(given) if given is not None else _Value())
            self.set_in[name] = self.loops

    def assign(self, name: str, value: _Value) -> None:
        self.env[name] = value if value.sum or value.base or value.loads or value.exponential else _Value(sum={(name,): 1})

    def loop(self, node: Node) -> None:
        """A loop: the names that it advances stand for its turn while its body is walked."""
        initializer, condition = node.child_by_field_name("initializer"), node.child_by_field_name("condition")
        update, body = node.child_by_field_name("update"), node.child_by_field_name("body")
        self.statement(initializer)
        advanced = _advanced(update) if update is not None else {}
        if not advanced:
            advanced = {name: step for name, step in _advanced(body).items() if name in identifiers(condition)}
        moved = {name for name in _advanced(body) if self.env.get(name, _Value()).base}
        self.loop_count += 1
        bounds = identifiers(condition) - set(advanced)
        limits = [self.sum_of(n) for n in (condition.named_children[-1:] if condition is not None else ())]
        if condition is not None and condition.type == "binary_expression":
            limits = [self.sum_of(condition.child_by_field_name("right"))]
        limit = number(limits[0]) if limits and limits[0] else None
        around = LoopOf(self.loop_count, line_of(node), all(step == "1" for step in advanced.values()), frozenset(bounds), limit)
        for name in (*advanced, *moved):
            turn = f"{name}#{self.loop_count}"
            self.terms.atoms[turn] = Atom(loops=frozenset({self.loop_count}))
            held = self.env.get(name, _Value())
            if held.base:
                dims = (*held.dims[:-1], added(held.dims[-1], {(turn,): 1}))
                self.env[name] = replace(held, dims=dims)
            else:
                self.env[name] = _Value(sum={(turn,): 1})
        outer, self.loops = self.loops, (*self.loops, around)
        self.statement(body)
        self.loops = outer

    # Values

    def sum_of(self, node: Node | None) -> Sum:
        """The sum that an index expression is; what was loaded becomes one name of data."""
        value = self.value(node)
        if value.sum or not value.loads:
            return value.sum
        name = node_text(node)[:60]
        joined = self.terms.joined([dict(dim) for load in value.loads for dim in load.dims])
        self.terms.atoms[name] = replace(joined, data=True)
        return {(name,): 1}

    def value(self, node: Node | None) -> _Value:
        """What an expression holds; accumulations in it are recorded."""
        self.nodes += 1
        if node is None or self.nodes > MAX_NODES:
            return _Value()
        handler = getattr(self, f"on_{node.type}", None)
        if handler is not None:
            return handler(node)
        return _merged([self.value(child) for child in node.named_children])

    def on_number_literal(self, node: Node) -> _Value:
        whole = re.fullmatch(r"(\d{1,9})[uUlL]*", node_text(node))
        return _Value(sum={(): int(whole[1])} if whole else {})

    def on_identifier(self, node: Node) -> _Value:
        name = node_text(node)
        return self.env.get(name) or _Value(sum=self.terms.constant(name) or {(name,): 1})

    def on_field_expression(self, node: Node) -> _Value:
        if known := self.terms.builtin(node_text(node)):
            return _Value(sum=known)
        held = self.value(node.child_by_field_name("argument"))
        return held if held.loads or held.base else _Value(sum={(node_text(node),): 1})

    def on_cast_expression(self, node: Node) -> _Value:
        return self.value(node.child_by_field_name("value"))

    def on_parenthesized_expression(self, node: Node) -> _Value:
        return self.value(node.named_children[0] if node.named_children else None)

    def on_unary_expression(self, node: Node) -> _Value:
        held = self.value(node.child_by_field_name("argument"))
        return replace(held, sum=multiplied(held.sum, {(): -1})) if node_text(node).startswith("-") else held

    def on_binary_expression(self, node: Node) -> _Value:
        left_node, right_node = node.child_by_field_name("left"), node.child_by_field_name("right")
        left, right = self.value(left_node), self.value(right_node)
        operator = node_text(node.child_by_field_name("operator"))
        if operator in "+-" and (left.base or right.base):
            pointer, node_of = (left, right_node) if left.base else (right, left_node)
            offset = self.sum_of(node_of)
            return replace(pointer, dims=(*pointer.dims[:-1], added(pointer.dims[-1], offset, 1 if operator == "+" else -1)))
        both = _merged([left, right])
        if both.loads:
            return replace(both, sum={})
        if operator in ("+", "-"):
            return replace(both, sum=added(left.sum, right.sum, 1 if operator == "+" else -1))
        if operator == "*":
            return replace(both, sum=multiplied(left.sum, right.sum))
        return replace(both, sum=self.terms.opaque(_shown(left.sum) + operator + _shown(right.sum), [left.sum, right.sum]))

    def on_pointer_expression(self, node: Node) -> _Value:
        held = self.value(node.child_by_field_name("argument")) if not node_text(node).startswith("&") else None
        return self.loaded(held) if held is not None else self.address(node.child_by_field_name("argument"))

    def address(self, node: Node | None) -> _Value:
        """An lvalue as a pointer."""
        if node is None or node.type != "subscript_expression":
            return self.value(node)
        held = self.address(node.child_by_field_name("argument"))
        if not held.base:
            if held.loads or not held.sum:
                return _Value()
            held = _Value(base=_shown(held.sum), dims=({},))
        indices = node.child_by_field_name("indices")
        index = self.sum_of(indices.named_children[0]) if indices is not None and indices.named_children else {}
        return replace(held, dims=(*held.dims[:-1], added(held.dims[-1], index), {}))

    def on_subscript_expression(self, node: Node) -> _Value:
        parent = node.parent
        inner = parent is not None and parent.type == "subscript_expression" and parent.child_by_field_name("argument") == node
        held = self.address(node)
        return held if inner else self.loaded(held)

    def loaded(self, held: _Value) -> _Value:
        """What a load gives: its place and, for an array of the kernel, where its contents came from."""
        if not held.base:
            return held
        space = self.spaces.get(held.base, "global")
        dims = tuple(tuple(sorted(dim.items())) for dim in held.dims if dim)
        operand = Operand(held.base, dims, registers=space == "local")
        inside = self.contents.get(held.base)
        if inside is not None and inside.loads:
            names = {name for load in inside.loads for name in load.names}
            blocks = {name for name in names if self.terms.atom(name).blocks or self.terms.atom(name).loops}
            operand = replace(operand, filled_from=frozenset(names if space == "local" else blocks))
        return _Value(loads=(operand,), exponential=inside is not None and inside.exponential)

    def on_update_expression(self, node: Node) -> _Value:
        return self.value(node.child_by_field_name("argument"))

    def on_conditional_expression(self, node: Node) -> _Value:
        self.value(node.child_by_field_name("condition"))
        parts = [self.value(node.child_by_field_name(name)) for name in ("consequence", "alternative")]
        merged = _merged(parts)
        return merged if merged.loads or merged.base else replace(merged, sum=self.terms.opaque(node_text(node), [p.sum for p in parts]))

    def on_assignment_expression(self, node: Node) -> _Value:
        target, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node_text(node.child_by_field_name("operator"))
        value = self.value(right)
        self.accumulation(target, operator, right)
        if target is None:
            return value
        if target.type == "identifier":
            name = node_text(target)
            if operator == "=" and name not in identifiers(right):
                self.set_in[name] = self.loops
                self.assign(name, value)
            elif operator == "=" or value.loads or value.exponential:
                self.env[name] = _merged([value, self.env.get(name, _Value())])
            return value
        pointer = self.address(target) if target.type == "subscript_expression" else _Value()
        if pointer.base:
            old = self.contents.get(pointer.base, _Value())
            self.contents[pointer.base] = _merged([replace(value, sum={}), old])
        return value

    def on_call_expression(self, node: Node) -> _Value:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        name = node_text(function).split("<")[0].split("::")[-1].strip() if function is not None else ""
        values = [self.value(part) for part in (arguments.named_children if arguments is not None else ())]
        known = next((f for f in self.source.functions if f.name == name and not f.kernel), None)
        if known is not None and self.depth < MAX_INLINE_DEPTH:
            return self.inlined(known, values)
        if re.match(r"__ld\w+$", name) and values and values[0].base:
            return self.loaded(values[0])
        merged = _merged(values)
        exponential = merged.exponential or _EXPONENTIAL.match(name) is not None
        if re.search(r"cast$", name):
            return merged
        if merged.loads or exponential:
            return replace(merged, sum={}, exponential=exponential)
        return _Value(sum=self.terms.opaque(node_text(node), [v.sum for v in values]))

    def inlined(self, function: Function, values: list[_Value]) -> _Value:
        """What a device function returns, its accumulations recorded as the kernel's."""
        kept = self.env, self.returned
        self.env = {param.name: value for param, value in zip(function.params, values)}
        self.returned, self.depth = _Value(), self.depth + 1
        self.statement(function.body)
        value, self.depth = self.returned, self.depth - 1
        self.env, self.returned = kept
        return value if value.loads or value.exponential or value.base else _merged([v for v in values if v.loads] or [value])

    # Accumulations

    def accumulation(self, target: Node | None, operator: str, right: Node | None) -> None:
        """Records the products that an assignment adds to its own target."""
        if target is None or right is None or not self.loops:
            return
        own = node_text(target)
        if operator == "+=":
            added_terms = _summands(right)
        elif operator == "=" and own in node_text(right):
            added_terms = [term for term in _summands(right) if own not in node_text(term) or _is_fused(term)]
        else:
            return
        outputs = {name for dim in self.address(target).dims for factors in dim for name in factors}
        name = next(iter(node_text(n) for n in walk(target) if n.type == "identifier"), "")
        fresh = {loop.number for loop in self.set_in.get(name, ())} if target.type == "identifier" else set()
        kept = fresh | {number for each in outputs for number in self.terms.atom(each).loops}
        for term in added_terms:
            values = [self.value(factor) for factor in _factors(term, own)]
            values = [value for value in values if value.loads or value.exponential]
            if len(values) > 1:
                self.found.append(
                    Product(
                        line_of(target),
                        tuple(value.loads[:MAX_OPERANDS] for value in values),
                        tuple(value.exponential for value in values),
                        tuple(loop for loop in self.loops if loop.number not in kept),
                        frozenset(kept),
                    )
                )


def read_products(source: CudaSource, kernel: Function) -> tuple[list[Product], Terms]:
    """The products that a kernel sums up, in source order, and what the names in their indices stand for."""
    walk_of = Products(source, Terms(source))
    for param in kernel.params:
        if param.pointer:
            walk_of.env[param.name] = _Value(base=param.name, dims=({},))
    walk_of.statement(kernel.body)
    return walk_of.found, walk_of.terms


def _merged(values: list[_Value]) -> _Value:
    """One value that may be any of several."""
    loads = tuple(dict.fromkeys(load for value in values for load in value.loads))[:MAX_OPERANDS]
    pointer = next((value for value in values if value.base), _Value())
    first = next((value.sum for value in values if value.sum), {}) if len(values) == 1 else {}
    return _Value(first, pointer.base, pointer.dims, loads, any(value.exponential for value in values))


def _advanced(node: Node | None) -> dict[str, str]:
    """Names that a statement counts up or down, and by what."""
    steps: dict[str, str] = {}
    for each in walk(node) if node is not None else ():
        if each.type == "update_expression":
            steps[node_text(each.child_by_field_name("argument"))] = "1"
        elif each.type == "assignment_expression" and node_text(each.child_by_field_name("operator")) in ("+=", "-="):
            steps[node_text(each.child_by_field_name("left"))] = node_text(each.child_by_field_name("right"))
    return steps


def _summands(node: Node) -> list[Node]:
    """The terms of a sum."""
    if node.type == "parenthesized_expression" and node.named_children:
        return _summands(node.named_children[0])
    if node.type == "binary_expression" and node_text(node.child_by_field_name("operator")) in ("+", "-"):
        return [*_summands(node.child_by_field_name("left")), *_summands(node.child_by_field_name("right"))]
    return [node]


def _is_fused(node: Node) -> bool:
    return node.type == "call_expression" and _FUSED.match(node_text(node.child_by_field_name("function"))) is not None


def _factors(node: Node, own: str) -> list[Node]:
    """The factors of a product; of a fused multiply-add those that are not the sum itself."""
    if node.type in ("parenthesized_expression", "cast_expression") and node.named_children:
        return _factors(node.named_children[-1], own)
    if node.type == "binary_expression" and node_text(node.child_by_field_name("operator")) == "*":
        return [*_factors(node.child_by_field_name("left"), own), *_factors(node.child_by_field_name("right"), own)]
    if _is_fused(node):
        return [part for part in node.child_by_field_name("arguments").named_children if node_text(part) != own][:2]
    return [node]


def _shown(value: Sum) -> str:
    return "+".join(f"{coefficient}*{'*'.join(factors)}" for factors, coefficient in sorted(value.items())) or "0"
