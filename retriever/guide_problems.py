"""What keeps the diagnosis from executing a guide, found without a report."""

from __future__ import annotations

from indexer.errors import InputError
from indexer.records import GuideRecord
from retriever.diagnosis import SECTIONS
from retriever.metric_expressions import Node, metric_names, parse_expression


def expression_problems(guide: GuideRecord) -> list[str]:
    """What is wrong with a guide's signatures, each as one sentence; empty when the diagnosis can execute all of it.

    Beyond syntax: every name looks like a metric's, sections exist, and the severity can be computed from
    the metrics that any one signature requires, so that a bottleneck that is named always has one.
    """
    problems = [f"unknown section {name!r}; known are {', '.join(SECTIONS)}" for name in guide.sections if name not in SECTIONS]
    if guide.severity and not guide.bound:
        problems.append("severity without bound: say in one sentence what it estimates and what caps the gain")
    if guide.signatures and not guide.sections:
        problems.append("signatures without sections: say which ncu sections hold their metrics")
    conditions = [condition for signature in guide.signatures for condition in (*signature.all, *signature.any, *signature.none)]
    for text in [condition.metric for condition in conditions] + ([guide.severity] if guide.severity else []):
        problems += _name_problems(text)
    if problems or not guide.severity:
        return problems
    severity = parse_expression(guide.severity)
    for number, signature in enumerate(guide.signatures, start=1):
        read = frozenset(node for condition in signature.all for node in _read_for_certain(parse_expression(condition.metric)))
        if not _computable(severity, read):
            problems.append(f"severity needs metrics that signature {number} does not require in `all`; wrap alternatives in first()")
    return problems


def _name_problems(text: str) -> list[str]:
    try:
        names = metric_names(parse_expression(text))
    except InputError as error:
        return [str(error)]
    odd = [name for name in names if "__" not in name and not name.startswith("memory_")]
    return [f'"{name}" in "{text}" is not a metric name; they have a double underscore or start with memory_' for name in odd]


def _read_for_certain(node: Node) -> set[Node]:
    """The metrics, and the `first()` choices as a whole, that a readable expression proves to be there."""
    inner = set() if node.kind == "first" else {part for child in node.parts for part in _read_for_certain(child)}
    return inner | ({node} if node.kind in ("metric", "first") else set())


def _computable(node: Node, read: frozenset[Node]) -> bool:
    if node in read or node.kind == "number":
        return True
    inner = [_computable(part, read) for part in node.parts]
    return bool(inner) and (any(inner) if node.kind == "first" else all(inner))
