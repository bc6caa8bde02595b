"""Arithmetic over profiler metrics: parsed by hand, since metric names hold dots and nothing is ever evaluated as Python."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from indexer.errors import InputError

FUNCTIONS = ("min", "max", "floor", "first")
"""`first(a, b)` is the first argument whose metrics the report has: names that differ by architecture or version."""

Lookup = Callable[[str], float | None]
"""A metric's value by name; None for a metric that the report lacks."""

_TOKEN = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][\w.]*)|(?P<sign>[-+*/(),]))")


@dataclass(frozen=True, slots=True)
class Node:
    """A parsed expression."""

    kind: str
    """`number`, `metric`, one of `+ - * /`, or one of FUNCTIONS."""
    name: str = ""
    number: float = 0.0
    parts: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What an expression came to on one report."""

    value: float | None
    """NaN where a division by a measured zero leaves nothing to compare; None where a metric is missing."""
    missing: tuple[str, ...] = ()
    """Metrics that it lacks, sorted."""


@lru_cache(maxsize=1024)
def parse_expression(text: str) -> Node:
    """The tree of `text`.

    Grammar: numbers, metric names, `+ - * /`, unary minus, parentheses, `min(...)`, `max(...)`, `floor(x)`,
    `first(...)`.

    Raises:
        InputError: the text is not in the grammar; the message quotes what follows the last good token.
    """
    tokens, end = [], 0
    while text[end:].strip():
        match = _TOKEN.match(text, end)
        if not match:
            raise InputError(f'metric expression "{text}": unexpected "{text[end:].strip()[:20]}"; {_ALLOWED}')
        tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
        end = match.end()
    parser = _Parser(text, tokens)
    node = parser.sum()
    if parser.peek():
        raise parser.fault()
    return node


_ALLOWED = "allowed are metric names, numbers, + - * /, parentheses, min(), max(), floor() and first()"


class _Parser:
    """Recursive descent over `(group, text)` tokens."""

    def __init__(self, text: str, tokens: list[tuple[str, str]]):
        self.text, self.tokens, self.at = text, tokens, 0

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def fault(self) -> InputError:
        return InputError(f'metric expression "{self.text}": unexpected "{self.peek() or "end"}"; {_ALLOWED}')

    def take(self, wanted: str) -> None:
        if self.peek() != wanted:
            raise self.fault()
        self.at += 1

    def chain(self, signs: str, operand: Callable[[], Node]) -> Node:
        node = operand()
        while self.peek() and self.peek() in signs:
            sign = self.peek()
            self.at += 1
            node = Node(sign, parts=(node, operand()))
        return node

    def sum(self) -> Node:
        return self.chain("+-", self.product)

    def product(self) -> Node:
        return self.chain("*/", self.factor)

    def factor(self) -> Node:
        group, word = self.tokens[self.at] if self.peek() else ("", "")
        if word == "-":
            self.at += 1
            return Node("-", parts=(Node("number"), self.factor()))
        if word == "(":
            self.at += 1
            node = self.sum()
            self.take(")")
            return node
        if group not in ("number", "name"):
            raise self.fault()
        self.at += 1
        if group == "number":
            return Node("number", number=float(word))
        return self.call(word) if word in FUNCTIONS else Node("metric", name=word)

    def call(self, function: str) -> Node:
        self.take("(")
        parts = [self.sum()]
        while self.peek() == ",":
            self.at += 1
            parts.append(self.sum())
        if function == "floor" and len(parts) != 1:
            raise self.fault()
        self.take(")")
        return Node(function, parts=tuple(parts))


def metric_names(node: Node) -> tuple[str, ...]:
    """Every metric that the expression names, sorted."""
    if node.kind == "metric":
        return (node.name,)
    return tuple(sorted({name for part in node.parts for name in metric_names(part)}))


def evaluate(node: Node, lookup: Lookup) -> Reading:
    """The expression's value."""
    if node.kind == "number":
        return Reading(node.number)
    if node.kind == "metric":
        value = lookup(node.name)
        return Reading(value) if value is not None else Reading(None, (node.name,))
    readings = [evaluate(part, lookup) for part in node.parts]
    if node.kind == "first" and (readable := [reading for reading in readings if reading.value is not None]):
        return readable[0]
    missing = tuple(sorted({name for reading in readings for name in reading.missing}))
    return Reading(None, missing) if missing else Reading(_combine(node.kind, [float(reading.value) for reading in readings]))


def _combine(kind: str, values: list[float]) -> float:
    """One step of arithmetic. A quotient by zero is NaN, which `min` and `max` pass over and no comparison meets."""
    if kind in ("min", "max"):
        real = [value for value in values if not math.isnan(value)]
        return (min(real) if kind == "min" else max(real)) if real else math.nan
    if kind == "floor":
        return values[0] if math.isnan(values[0]) else float(math.floor(values[0]))
    left, right = values
    if kind == "/":
        return left / right if right else math.nan
    return {"+": left + right, "-": left - right, "*": left * right}[kind]
