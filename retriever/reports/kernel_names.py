"""Names of kernels, mangled or with arguments, to what a person calls them."""

from __future__ import annotations

import re

from retriever.reports.template_arguments import arguments_of

_NAME = re.compile(r"(\d+)(.*)", re.DOTALL)


def readable(name: str) -> str:
    """`demo::heavy` for `_ZN4demo5heavyILi256EfEEvPKT0_PS1_i`: namespaces and name, without template arguments and parameters.

    Any other name, `extern "C"` and demangled ones too, and a mangled one of a form that is not read here, comes back as it is.
    """
    return _read(name)[0]


def instance_name(name: str) -> str:
    """The same with the template arguments, `demo::heavy<256, float>`, unless they have a form that is not read here."""
    plain, rest = _read(name)
    return plain + (arguments_of(rest) or "")


def _read(name: str) -> tuple[str, str]:
    """The readable name, and what of a mangled one stands behind it."""
    if not name.startswith("_Z"):
        return name, ""
    rest = name[2:]
    nested = rest.startswith("N")
    parts, rest = _parts(rest[1:] if nested else rest, nested)
    return ("::".join(parts), rest) if parts else (name, "")


def _parts(rest: str, nested: bool) -> tuple[list[str], str]:
    """Length-prefixed names from the front of `rest`; template arguments end them, since the last one before is the kernel's."""
    parts: list[str] = []
    while match := _NAME.match(rest.removeprefix("L")):  # L marks a name of internal linkage
        length, tail = int(match[1]), match[2]
        part, rest = tail[:length], tail[length:]
        parts.append("(anonymous)" if part.startswith("_GLOBAL__N_") else part)
        if not nested:
            break
    return parts, rest


def kernel_name(signature: str) -> str:
    """`signature` without its trailing argument list, template arguments kept."""
    depth = 0
    if not signature.endswith(")"):
        return signature
    for position in range(len(signature) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(signature[position], 0)
        if depth == 0:
            return signature[:position].rstrip() or signature
    return signature


def base_name(kernel: str) -> str:
    """`void ns::reduce<float, 4>(float *)` is `reduce`."""
    kernel = kernel.replace("(anonymous namespace)", "anonymous").replace("<unnamed>", "anonymous")
    depth, outside = 0, []
    for sign in kernel:
        depth += (sign == "<") - (sign == ">")
        if depth == 0 and sign != ">":
            outside.append(sign)
    plain = "".join(outside).split("(")[0].strip()
    return (plain.split("::")[-1].split() or [kernel])[-1]
