"""Kernel source in any supported language to facts; the text is parsed and never run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from retriever.kernels.facts import KernelFacts
from retriever.kernels.sass import is_sass, read_sass

MAX_READ_CHARS = 150_000
"""What is read of one file: hand-written kernels are shorter, and a generated file shows its kind at its start. About 1 s of work."""
MAX_LINE_CHARS = 4_000
"""Longer lines are data, not code; they are cut, since patterns take their time over them."""
_CUDA_SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".h", ".hpp", ".hip")
_PYTHON_LANGUAGES: tuple[tuple[str, str], ...] = (
    ("triton", r"@\s*(?:triton|tl)\.jit|^\s*import triton|^\s*from triton\b"),
    ("cutedsl", r"\bcutlass\.cute\b|@\s*cute\.(?:kernel|jit)|\bimport cutlass\b"),
    ("tilelang", r"\bimport tilelang\b|@\s*T\.prim_func|\btilelang\.jit"),
    ("cutile", r"\bimport cuda\.tile\b|@\s*ct\.kernel"),
    ("numba", r"\bfrom numba import cuda\b|@\s*cuda\.jit"),
)
_HOST_OF_CUDA = re.compile(r"__global__|load_kernel|load_inline|RawKernel|nvrtc|cuda\.core|SourceModule")
_LONG_STRING = re.compile(r"\"{3}.*?(?:\"{3}|\Z)|'{3}.*?(?:'{3}|\Z)", re.S)
_PYTHON_LINE = re.compile(r"^(?:import \w|from [\w.]+ import |def \w+\(|@\w)", re.M)


def read_kernel(text: str, source_name: str) -> KernelFacts:
    """The facts of a kernel's source; text that is in no known language is read by patterns, with `parsed` False."""
    text, note = _cut(text)
    language = "sass" if is_sass(text) else detect_language(text, source_name)
    if language == "cuda" and source_name.lower().endswith(".py"):
        language, text = ("cuda", embedded) if (embedded := _embedded_cuda(text)) else ("host", text)
    facts = _reader(language)(text, source_name)
    return replace(facts, parsed=False, notes=(*facts.notes, note)) if note else facts


def _cut(text: str) -> tuple[str, str]:
    """What is read of a text, and a note where that is not all of it."""
    kept = text if len(text) <= MAX_READ_CHARS else text[: text.rfind("\n", 0, MAX_READ_CHARS) + 1] or text[:MAX_READ_CHARS]
    short = re.sub(rf"(?m)^(.{{{MAX_LINE_CHARS}}}).+$", r"\1", kept)
    if len(kept) < len(text):
        line = kept.count("\n") + 1
        return short, f"line {line}: not read from here on; {len(kept):,} of {len(text):,} characters were"
    if len(short) < len(kept):
        line = next(number for number, row in enumerate(kept.split("\n"), 1) if len(row) > MAX_LINE_CHARS)
        return short, f"line {line}: longer than {MAX_LINE_CHARS:,} characters, the rest of it was not read"
    return kept, ""


def detect_language(text: str, source_name: str) -> str:
    """Vocabulary id of the language, by suffix and content; `cuda` where nothing tells."""
    name, head = source_name.lower(), text
    if name.endswith(".ptx") or (re.search(r"^\s*\.version\s+\d", head, re.M) and re.search(r"^\s*\.target\s+sm_", head, re.M)):
        return "ptx"
    if name.endswith(_CUDA_SUFFIXES) or (not name.endswith(".py") and re.search(r"\b__global__\b", head)):
        return "cuda"
    for language, pattern in _PYTHON_LANGUAGES:
        if re.search(pattern, head, re.M):
            return language
    if name.endswith(".py") or _PYTHON_LINE.search(head):
        return "cuda" if _HOST_OF_CUDA.search(head) else "triton"
    return "cuda"


def _reader(language: str) -> Callable[[str, str], KernelFacts]:
    """The reader of a language, imported only when it is needed: the CUDA grammar is a compiled module."""
    if language == "sass":
        return read_sass
    if language == "ptx":
        from retriever.kernels.ptx import read_ptx

        return read_ptx
    if language == "cuda":
        from retriever.kernels.cuda import read_cuda

        return read_cuda
    from retriever.kernels.triton_source import read_python

    return lambda text, name: read_python(text, name, "cuda" if language == "host" else language)


def _embedded_cuda(text: str) -> str:
    """The CUDA C++ in the long strings of a Python file, at its own lines; empty where there is none."""
    parts, end, found = [], 0, False
    for match in _LONG_STRING.finditer(text):
        kernel = "__global__" in match[0]
        parts += [_blank(text[end : match.start()]), "   " + match[0][3:-3] + "   " if kernel else _blank(match[0])]
        end, found = match.end(), found or kernel
    return "".join(parts) + _blank(text[end:]) if found else ""


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
