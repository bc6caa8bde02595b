"""CUDA C++ text to functions, constants and shared arrays, by tree-sitter; preprocessor lines are blanked, not run."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

MAX_DEFINES = 400
"""Object-like macros taken from one file; generated headers have more, and none of them is a tile size."""

Node = Any
"""A tree_sitter.Node; the module is imported only when CUDA is read."""

_COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"', re.S)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\(?:\n|.))*", re.M)
_ALIGNMENT = re.compile(r"\b(?:__align__|alignas)\s*\(\s*[\w:]+\s*\)|\b__forceinline__\b|\b__grid_constant__\b")
"""Attributes that the grammar does not know in every place, and that no reading needs."""
_ASM_MACRO = re.compile(r"(\basm\s*(?:volatile)?\s*\(\s*)([A-Z_]\w+)(?=\s*:)")
"""Assembly whose text is a macro; the grammar wants a string."""
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([\w \t+*/()<>%-]+?)[ \t]*$", re.M)
_ALIAS = re.compile(r"\btypedef\s+([\w ]+?)\s+(\w+)\s*;|\busing\s+(\w+)\s*=\s*([\w: ]+?)\s*;")
_KERNEL_HEADER = re.compile(r"__global__(?:[^;{}()]|\((?:[^()]|\([^()]*\))*\))*?\b(\w+)\s*\((?=[^;{}]*\)\s*\{)")


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of a device function."""

    name: str
    type: str
    pointer: bool
    const: bool


@dataclass(frozen=True, slots=True)
class Function:
    """One function with a body."""

    name: str
    line: int
    end_line: int
    body: Node
    params: tuple[Param, ...]
    kernel: bool
    device: bool
    """It runs on the GPU: `__global__` or `__device__`."""
    template_names: frozenset[str]
    launch_bounds: tuple[Node, ...] = ()


@dataclass(slots=True)
class CudaSource:
    """The parts of one file that the readers look at."""

    text: str
    """Without comments; line numbers are those of the file."""
    code: str
    """Without preprocessor lines as well: what was parsed."""
    functions: list[Function] = field(default_factory=list)
    constants: dict[str, Node] = field(default_factory=dict)
    """Initialisers of `#define`, `constexpr` and file-level `const` names; the first definition counts."""
    aliases: dict[str, str] = field(default_factory=dict)
    launches: list[Node] = field(default_factory=list)
    """Arguments of `<<<...>>>`."""
    error_line: int | None = None
    starts: list[int] = field(default_factory=list)

    @property
    def kernels(self) -> list[Function]:
        """The `__global__` functions, in file order."""
        return [function for function in self.functions if function.kernel]

    @property
    def device_text(self) -> str:
        """The text without the bodies of host functions."""
        lines = self.text.split("\n")
        kept = {row for f in self.functions if f.device for row in range(f.line, f.end_line + 1)}
        dropped = {row for f in self.functions if not f.device for row in range(f.line, f.end_line + 1)} - kept
        return "\n".join("" if row in dropped else line for row, line in enumerate(lines, 1))

    def line(self, offset: int) -> int:
        """The line, from 1, of a character offset."""
        return bisect_right(self.starts, offset)


def node_text(node: Node) -> str:
    """The source text of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def line_of(node: Node) -> int:
    """First line of a node, from 1."""
    return node.start_point[0] + 1


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, in source order."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))


def without_comments(text: str) -> str:
    """The text with comments blanked and every offset unchanged."""
    return _COMMENT_OR_STRING.sub(lambda m: m[0] if m[0][0] == '"' else _blank(m[0]), text)


def kernel_headers(text: str) -> list[tuple[str, int]]:
    """Names and offsets of `__global__` functions by pattern, for text that does not parse."""
    return [(match[1], match.start()) for match in _KERNEL_HEADER.finditer(text) if not match[1].startswith("__")]


def parse_cuda(text: str) -> CudaSource:
    """The functions, constants and launches of a CUDA file; `error_line` is the first place that did not parse."""
    clean = without_comments(text)
    code = _ALIGNMENT.sub(lambda m: _blank(m[0]), _DIRECTIVE.sub(lambda m: _blank(m[0]), clean))
    code = _ASM_MACRO.sub(lambda m: m[1] + '""' + " " * (len(m[2]) - 2), code)
    source = CudaSource(clean, code, starts=[0, *(m.end() for m in re.finditer("\n", clean))])
    root = _parser().parse(code.encode("utf-8", "replace")).root_node
    for match in _ALIAS.finditer(code):
        source.aliases.setdefault(match[2] or match[3], (match[1] or match[4]).strip())
    for name, value in _DEFINE.findall(clean)[:MAX_DEFINES]:
        source.constants.setdefault(name, _expression(value))
    if root.has_error:
        source.error_line = next((line_of(n) for n in walk(root) if n.type == "ERROR" or n.is_missing), 1)
    for node in walk(root):
        if node.type == "function_definition":
            _add_function(source, node)
        elif node.type == "declaration" and not _inside_function(node):
            _add_constants(source, node)
        elif node.type == "kernel_call_syntax":
            source.launches.append(node)
    return source


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


@cache
def _parser() -> Any:
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cuda.language()))


def _expression(text: str) -> Node:
    """The tree of one expression."""
    root = _parser().parse(f"long v = ({text});".encode()).root_node
    return next((n.child_by_field_name("value") for n in walk(root) if n.type == "init_declarator"), root)


def _inside_function(node: Node) -> bool:
    while node := node.parent:
        if node.type == "compound_statement":
            return True
    return False


def _add_constants(source: CudaSource, declaration: Node) -> None:
    if not re.match(r"(?:static\s+|inline\s+|__device__\s+|__constant__\s+)*(?:const|constexpr)\b", node_text(declaration)[:80]):
        return
    for declarator in declaration.children_by_field_name("declarator"):
        name, value = declarator.child_by_field_name("declarator"), declarator.child_by_field_name("value")
        if name is not None and value is not None and name.type == "identifier":
            source.constants.setdefault(node_text(name), value)


def _add_function(source: CudaSource, node: Node) -> None:
    body, declarator = node.child_by_field_name("body"), node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    if body is None or declarator is None:
        return
    name = node_text(declarator.child_by_field_name("declarator")).split("::")[-1]
    head = [child for child in node.children if child.start_byte < body.start_byte]
    bounds = [n for child in head for n in walk(child) if n.type == "launch_bounds"]
    arguments = tuple(n for n in bounds[0].children if n.is_named) if bounds else ()
    kinds = {n.type for child in head for n in walk(child)} | set(re.findall(r"__(?:device|global)__", " ".join(map(node_text, head))))
    kernel = "__global__" in kinds
    parameters = declarator.child_by_field_name("parameters")
    params = tuple(_param(p) for p in parameters.children if "parameter_declaration" in p.type) if parameters is not None else ()
    source.functions.append(
        Function(
            name,
            line_of(node),
            node.end_point[0] + 1,
            body,
            params,
            kernel,
            kernel or "__device__" in kinds,
            _template_names(node),
            arguments,
        ),
    )


def _param(node: Node) -> Param:
    declarator = node.child_by_field_name("declarator")
    name = next((node_text(n) for n in walk(declarator) if n.type == "identifier"), "") if declarator is not None else ""
    pointer = declarator is not None and any(n.type in ("pointer_declarator", "array_declarator") for n in walk(declarator))
    type_node = node.child_by_field_name("type")
    return Param(name, node_text(type_node) if type_node is not None else "", pointer, node_text(node).lstrip().startswith("const"))


def _template_names(node: Node) -> frozenset[str]:
    parent = node.parent
    if parent is None or parent.type != "template_declaration":
        return frozenset()
    parameters = parent.child_by_field_name("parameters")
    return (
        frozenset(node_text(n) for n in walk(parameters) if n.type in ("identifier", "type_identifier"))
        if parameters is not None
        else frozenset()
    )
