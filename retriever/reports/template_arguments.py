"""Template arguments of mangled names, by which the instances of one kernel differ (Itanium C++ ABI, the part that kernels use)."""

from __future__ import annotations

import re

BUILTIN = {
    "v": "void", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short", "t": "unsigned short",
    "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long", "y": "unsigned long long",
    "f": "float", "d": "double", "e": "long double",
}  # fmt: skip
BEHIND = {"P": "*", "R": "&", "O": "&&", "K": " const"}
"""What a qualifier in front of a mangled type puts behind the readable one."""
DEEPEST = 40  # a guess: arguments nested deeper than this are not read

_LENGTH = re.compile(r"\d{1,4}")
_LITERAL = re.compile(r"(n?)(\d+)E")


def arguments_of(mangled: str) -> str | None:
    """`<256, float>` for the text `ILi256EfE...` behind a name; empty where none stand there, None for a form that is not read here."""
    if not mangled.startswith("I"):
        return ""
    try:
        return _listed(mangled[1:], 0)[0]
    except ValueError:
        return None


def _listed(rest: str, depth: int) -> tuple[str, str]:
    """Arguments up to their `E`, in angle brackets, and what follows."""
    arguments = []
    while not rest.startswith("E"):
        if rest.startswith("J"):  # a pack is written out among the others
            pack, rest = _listed(rest[1:], depth + 1)
            arguments += [pack[1:-1]] if len(pack) > 2 else []
            continue
        argument, rest = _literal(rest[1:], depth) if rest.startswith("L") else _type(rest, depth)
        arguments.append(argument)
    return f"<{', '.join(arguments)}>", rest[1:]


def _literal(rest: str, depth: int) -> tuple[str, str]:
    kind, rest = _type(rest, depth)
    match = _LITERAL.match(rest)
    if not match:
        raise ValueError(rest)
    value = ("-" if match[1] else "") + match[2]
    if kind == "bool":
        value = {"0": "false", "1": "true"}.get(value, value)
    elif kind not in BUILTIN.values():
        value = f"({kind}){value}"
    return value, rest[match.end() :]


def _type(rest: str, depth: int) -> tuple[str, str]:
    """One type and what follows.

    Raises:
        ValueError: a form that is not read here: a substitution, a function, an expression, the end of the text.
    """
    if depth > DEEPEST or not rest:
        raise ValueError(rest)
    if rest[0] in BUILTIN:
        return BUILTIN[rest[0]], rest[1:]
    if rest[0] in BEHIND:
        inner, after = _type(rest[1:], depth + 1)
        return inner + BEHIND[rest[0]], after
    if rest[0] == "N":
        parts, after = [], rest[1:]
        while not after.startswith("E"):
            part, after = _name(after, depth + 1)
            parts.append(part)
        return "::".join(parts), after[1:]
    return _name(rest, depth)


def _name(rest: str, depth: int) -> tuple[str, str]:
    """A length-prefixed name with its own arguments."""
    match = _LENGTH.match(rest)
    if not match or len(rest) < match.end() + int(match[0]):
        raise ValueError(rest)
    name, after = rest[match.end() : match.end() + int(match[0])], rest[match.end() + int(match[0]) :]
    if not after.startswith("I"):
        return name, after
    arguments, after = _listed(after[1:], depth + 1)
    return name + arguments, after
