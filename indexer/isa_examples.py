"""The PTX examples of an instruction page, and what the page claims about each.

An example is a fenced block whose info string starts with `ptx`:

    ptx accept=sm_90,sm_100 version=8.0
    ptx refuse=sm_80 version=8.0 error="requires .target sm_90"

`accept` lists targets that assemble it, `refuse` targets that must not, `error` a part of the refusal's text, and `version` the
PTX ISA version that it needs. One block may state both. Its text is the body of a kernel with parameters `p0` to `p3` (.u64)
and `n` (.u32); a text that itself holds an `.entry` or a `.func` stands at module level instead. Neither form states `.version`
or `.target`: the checker sets them. A block that only shows syntax is fenced as `text`.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import yaml
from markdown_it import MarkdownIt

from indexer.corpus import GLOBS, record_id
from indexer.errors import CorpusError, did_you_mean
from indexer.front_matter import split_front_matter

TARGET_VERSIONS = {
    "sm_75": "6.3",
    "sm_80": "7.0",
    "sm_86": "7.1",
    "sm_87": "7.4",
    "sm_88": "9.0",
    "sm_89": "7.8",
    "sm_90": "7.8",
    "sm_90a": "8.0",
    "sm_100": "8.6",
    "sm_100f": "8.8",
    "sm_100a": "8.6",
    "sm_103": "8.8",
    "sm_103f": "8.8",
    "sm_103a": "8.8",
    "sm_110": "9.0",
    "sm_110f": "9.0",
    "sm_110a": "9.0",
    "sm_120": "8.7",
    "sm_120f": "8.8",
    "sm_120a": "8.7",
    "sm_121": "8.8",
    "sm_121f": "8.8",
    "sm_121a": "8.8",
}
"""Every target that is checked, oldest first, with the lowest `.version` that ptxas 13.0.88 takes for it."""

ATTRIBUTES = ("accept", "refuse", "version", "error")
PARAMETERS = ".param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u32 n"
_MODULE_LEVEL = re.compile(r"^\s*(\.\w+\s+)*\.(entry|func)\b", re.MULTILINE)
_HEADER = re.compile(r"^\s*\.(version|target|address_size)\b", re.MULTILINE)
_VERSION = re.compile(r"[1-9]\.\d")


@dataclass(frozen=True, slots=True)
class Example:
    """One fenced example and its claims."""

    line: int
    """Line of the opening fence in the file."""
    text: str
    accept: tuple[str, ...]
    refuse: tuple[str, ...]
    version: str
    error: str

    @property
    def whole_module(self) -> bool:
        """Whether the text stands at module level."""
        return _MODULE_LEVEL.search(self.text) is not None

    def version_for(self, target: str) -> str:
        """The claimed PTX ISA version, raised to the lowest that knows `target`."""
        return max(self.version, TARGET_VERSIONS[target], key=version_key)

    def entry(self, name: str) -> str:
        """The text as the body of a kernel with that name."""
        return f".visible .entry {name}({PARAMETERS})\n{{\n{self.text}}}\n"

    def module(self, target: str, version: str | None = None) -> str:
        """The whole module for `target`; `version` defaults to `version_for` it."""
        header = f".version {version or self.version_for(target)}\n.target {target}\n.address_size 64\n"
        return header + (self.text if self.whole_module else self.entry("example"))


def version_key(version: str) -> tuple[int, ...]:
    """Sorts "8.6" before "10.0"."""
    return tuple(int(part) for part in version.split("."))


def isa_pages(root: Path) -> dict[str, Path]:
    """Instruction pages by record id, in id order."""
    paths = (path for path in root.glob(GLOBS["isa"]) if not path.name.startswith("_") and path.name != "README.md")
    return dict(sorted((record_id(root, "isa", path), path) for path in paths))


def read_examples(root: Path, path: Path) -> tuple[Example, ...]:
    """The examples of the page at `path`, in page order.

    Raises:
        CorpusError: a fence breaks the grammar above, or the page has no example that is accepted anywhere.
    """
    where = path.relative_to(root).as_posix()
    _, body, first_line = split_front_matter(path.read_text(encoding="utf-8"), where)
    examples: list[Example] = []
    problems: list[str] = []
    for token in MarkdownIt("commonmark").parse(body):
        if token.type == "fence" and token.info.split()[:1] == ["ptx"]:
            line = first_line + token.map[0]
            example, faults = _read_fence(token.info, token.content, line)
            problems += [f"{where}:{line}: {fault}" for fault in faults]
            examples += [example] if example else []
    if not problems and not any(example.accept for example in examples):
        problems = [f"{where}:{first_line}: no example; add a ptx fence with accept=TARGETS version=N.N"]
    if problems:
        raise CorpusError(problems)
    return tuple(examples)


def page_mnemonics(path: Path) -> tuple[str, ...]:
    """The mnemonics that the page at `path` is about, first its own; read loosely, since `read_record` does the checking."""
    front, _, _ = split_front_matter(path.read_text(encoding="utf-8"), path.name)
    fields = yaml.load(front, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}
    return tuple(str(name) for name in (fields.get("mnemonic"), *(fields.get("also") or ())) if name)


def examples_hash(examples: tuple[Example, ...]) -> str:
    """Sixteen hex digits over the texts and claims; a moved line does not change it."""
    content = [[e.text, e.accept, e.refuse, e.version, e.error] for e in examples]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _read_fence(info: str, text: str, line: int) -> tuple[Example | None, list[str]]:
    try:
        words = shlex.split(info)[1:]
    except ValueError as error:
        return None, [f"info string cannot be read ({error}): {info!r}"]
    pairs = [word.partition("=") for word in words]
    fields = {key: value for key, _, value in pairs}
    faults = [f'unknown attribute "{key}"{did_you_mean(key, ATTRIBUTES)}' for key in fields if key not in ATTRIBUTES]
    if len(fields) < len(pairs):
        faults.append("an attribute is given twice")
    accept, refuse = (tuple(filter(None, fields.get(key, "").split(","))) for key in ("accept", "refuse"))
    faults += [
        f'unknown target "{name}"{did_you_mean(name, tuple(TARGET_VERSIONS))}' for name in accept + refuse if name not in TARGET_VERSIONS
    ]
    if both := sorted(set(accept) & set(refuse)):
        faults.append(f"{', '.join(both)} in both accept and refuse")
    if not accept + refuse:
        faults.append("states neither accept= nor refuse=; fence a block that is not an example as text")
    if not _VERSION.fullmatch(fields.get("version", "")):
        faults.append(f'version must be a PTX ISA version such as 8.0, not "{fields.get("version", "")}"')
    if bool(refuse) != bool(fields.get("error")):
        faults.append('refuse= and error="part of the message" go together')
    if header := _HEADER.search(text):
        faults.append(f"states .{header[1]}; the checker sets .version, .target and .address_size")
    if faults:
        return None, faults
    return Example(line, text, accept, refuse, fields["version"], fields.get("error", "")), []
