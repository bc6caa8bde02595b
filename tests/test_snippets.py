"""Every code snippet of the technique, hardware and guide pages compiles (CUDA C++) or parses (Python)."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest
from markdown_it import MarkdownIt

WIKI = Path(__file__).parents[1] / "kernel_wiki"
FOLDERS = ("techniques", "hardware", "guides")
PROCESSES = 2
"""nvcc processes at a time: what a small CI machine has cores for."""
NVCC_OPTIONS = ("-std=c++17", "-cubin", "-Werror", "all-warnings", "-diag-suppress", "177", "-Xptxas", "-O1")
"""177 is "declared but never referenced": a snippet may define a constant only to show it. ptxas -O0 would reject `setmaxnreg`."""
INCLUDE = re.compile(r"^\s*#\s*include\s.*$", re.MULTILINE)


class Snippet(NamedTuple):
    """One fenced block: where it begins, the words of its info string, and its text."""

    page: str
    line: int
    info: tuple[str, ...]
    text: str

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"


def read_snippets(page: Path) -> list[Snippet]:
    """The fenced blocks of a page in order."""
    tokens = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    name = page.relative_to(WIKI).as_posix()
    return [Snippet(name, t.map[0] + 1, tuple(t.info.split()), t.content) for t in tokens if t.type == "fence"]


SNIPPETS = [s for folder in FOLDERS for page in sorted((WIKI / folder).glob("*.md")) for s in read_snippets(page)]
CUDA = [snippet for snippet in SNIPPETS if snippet.info[:1] == ("cuda",) and len(snippet.info) == 2]
PYTHON = [snippet for snippet in SNIPPETS if snippet.info[:1] == ("python",)]


def translation_unit(snippets: list[Snippet]) -> str:
    """One source of many snippets: includes first, then each snippet in a namespace of its own, its lines named after the page."""
    includes = dict.fromkeys(include.strip() for snippet in snippets for include in INCLUDE.findall(snippet.text))
    parts = list(includes)
    for number, snippet in enumerate(snippets):
        body = INCLUDE.sub("", snippet.text)
        parts.append(f'namespace snippet_{number} {{\n#line {snippet.line + 1} "{snippet.page}"\n{body}}}')
    return "\n".join(parts) + "\n"


def compile_all(batches: dict[str, list[Snippet]], folder: Path) -> dict[str, str]:
    """What nvcc says of the batch of each architecture that it refuses; at most PROCESSES run at a time."""
    refused: dict[str, str] = {}
    waiting = sorted(batches)
    while waiting:
        running = {arch: _start(arch, batches[arch], folder) for arch in waiting[:PROCESSES]}
        waiting = waiting[PROCESSES:]
        for arch, process in running.items():
            output, _ = process.communicate()
            if process.returncode:
                refused[arch] = output
    return refused


def _start(arch: str, snippets: list[Snippet], folder: Path) -> subprocess.Popen[str]:
    source = folder / f"{arch}.cu"
    source.write_text(translation_unit(snippets), encoding="utf-8")
    command = ["nvcc", *NVCC_OPTIONS, f"-arch={arch}", str(source), "-o", str(source.with_suffix(".cubin"))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on PATH")
def test_every_cuda_snippet_compiles_for_the_architecture_it_names(tmp_path: Path) -> None:
    batches: dict[str, list[Snippet]] = defaultdict(list)
    for snippet in CUDA:
        batches[snippet.info[1]].append(snippet)
    refused = compile_all(batches, tmp_path)
    assert not refused, "\n".join(refused.values())


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on PATH")
def test_a_broken_snippet_is_reported_with_its_page_and_line(tmp_path: Path) -> None:
    broken = Snippet("techniques/made-up.md", 40, ("cuda", "sm_80"), "__global__ void f() {\n    undeclared = 1;\n}\n")
    refused = compile_all({"sm_80": [broken]}, tmp_path)
    assert "techniques/made-up.md(42): error" in refused["sm_80"]


def test_every_technique_page_with_a_cuda_fence_names_an_architecture() -> None:
    nameless = [s.where for s in SNIPPETS if s.page.startswith("techniques/") and s.info[:1] == ("cuda",) and len(s.info) != 2]
    assert nameless == []


@pytest.mark.parametrize("snippet", PYTHON, ids=lambda snippet: snippet.where)
def test_python_snippet_parses(snippet: Snippet) -> None:
    ast.parse(textwrap.dedent(snippet.text), filename=snippet.where)
