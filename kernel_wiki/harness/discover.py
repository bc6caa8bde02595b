"""What the zoo holds, from file names alone, and whether each record still belongs to its sources. Imports no operator and no torch."""

from __future__ import annotations

import contextlib
import hashlib
import json
import marshal
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ZOO = Path(__file__).resolve().parent.parent / "zoo"
ATTEMPTS_FOLDER = "attempts"
"""`kernel_wiki/attempts/<operator>/`, beside the zoo: implementations that are right and were slower than their parent."""
COMPILE_FOLDER = "compile"
"""The folder in `validation/` of the lane without a GPU; every other one is a GPU's."""
BYTECODE_HEADER_BYTES = 16
"""Of a `.pyc` file, before the code: PEP 552."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One implementation or wrong variant of an operator."""

    operator: str
    name: str
    folder: Path
    """Of its source."""
    contract: Path | None = None
    """The contract's path where that stands elsewhere than beside the source."""

    @property
    def contract_path(self) -> Path:
        """The module that says what it is checked against."""
        return self.contract or self.folder / "contract.py"

    @property
    def is_attempt(self) -> bool:
        """Kept because it is right and slower than its parent."""
        return self.folder.parent.name == ATTEMPTS_FOLDER

    @property
    def id(self) -> str:
        """For example `softmax/triton_rowwise`."""
        return f"{self.operator}/{self.name}"

    @property
    def source(self) -> Path:
        """The module with `run`."""
        return self.folder / f"{self.name}.py"

    @property
    def is_wrong(self) -> bool:
        """Written to be rejected."""
        return self.name.startswith("wrong_")

    @property
    def has_cuda(self) -> bool:
        """A CUDA C++ source stands beside it."""
        return self.source.with_suffix(".cu").exists()


@dataclass(frozen=True, slots=True)
class RecordStatus:
    """Whether a validation record vouches for the sources as they are."""

    status: str
    """valid, missing, stale or rejected."""
    gpu: str | None
    """Folder of the record, such as `nvidia-h200`."""
    reason: str
    command: str
    """What renews it."""


def operators(zoo: Path = ZOO) -> list[str]:
    """Names of the folders that hold a contract, sorted."""
    return sorted(path.parent.name for path in zoo.glob("*/contract.py"))


def _modules(operator: str, zoo: Path) -> list[Entry]:
    names = sorted(path.stem for path in (zoo / operator).glob("*.py") if not path.name.startswith("_"))
    return [Entry(operator, name, zoo / operator) for name in names if name != "contract"]


def implementations(operator: str, zoo: Path = ZOO) -> list[Entry]:
    """Its implementations, sorted by name."""
    return [entry for entry in _modules(operator, zoo) if not entry.is_wrong]


def wrong_variants(operator: str, zoo: Path = ZOO) -> list[Entry]:
    """Its wrong variants, sorted by name."""
    return [entry for entry in _modules(operator, zoo) if entry.is_wrong]


def attempts(operator: str, zoo: Path = ZOO) -> list[Entry]:
    """The failed attempts at an operator, sorted by name; their folder stands beside the zoo, their contract is the operator's."""
    names = sorted(path.stem for path in (zoo.parent / ATTEMPTS_FOLDER / operator).glob("*.py") if not path.name.startswith("_"))
    return [attempt_entry(operator, name, zoo) for name in names]


def attempt_entry(operator: str, name: str, zoo: Path = ZOO) -> Entry:
    """One failed attempt, whether its files are there or not."""
    return Entry(operator, name, zoo.parent / ATTEMPTS_FOLDER / operator, zoo / operator / "contract.py")


def select(what: str, zoo: Path = ZOO, wrong: bool = False) -> list[Entry]:
    """Entries named by `all`, an operator, `operator/name`, or several of these between commas, each once.

    `attempts`, `attempt/operator` and `attempt/operator/name` name failed attempts in the same way.

    Raises:
        LookupError: nothing has that name; the message lists what there is.
    """
    if "," in what:
        return list(dict.fromkeys(entry for part in what.split(",") for entry in select(part.strip(), zoo, wrong)))
    listed = wrong_variants if wrong else implementations
    if what == "attempts" or what.startswith("attempt/"):
        listed, what = attempts, what.partition("/")[2] or "all"
    operator, _, name = what.partition("/")
    chosen = operators(zoo) if what == "all" else [operator]
    found = [entry for each in chosen for entry in listed(each, zoo) if not name or entry.name == name]
    if not found:
        known = [entry.id for each in operators(zoo) for entry in listed(each, zoo)]
        raise LookupError(f'no entry "{what}" in {zoo}; there are: {", ".join(known) or "none"}')
    return found


def source_hashes(operator: str, impl: str, zoo: Path = ZOO) -> dict[str, str]:
    """File name to sha256 of everything that decides what a record says: the module, its .cu if any, and the contract."""
    return entry_hashes(Entry(operator, impl, zoo / operator))


def entry_hashes(entry: Entry) -> dict[str, str]:
    """The same of an entry, whose contract may stand elsewhere. How a wrong variant should be rejected is no part of what runs."""
    paths = [entry.source, entry.source.with_suffix(".cu"), entry.contract_path]
    texts = {path.name: path.read_bytes() for path in paths if path.exists()}
    if entry.is_wrong and entry.source.name in texts:
        texts[entry.source.name] = re.sub(rb"^REJECTED_AS = .*$", b"", texts[entry.source.name], flags=re.MULTILINE)
    return {name: hashlib.sha256(text).hexdigest() for name, text in texts.items()}


def tree_hash(zoo: Path) -> str:
    """One hash over every source and page of the zoo and of this package, so that a candidate that rewrites one is found out."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in (Path(zoo), Path(__file__).parent) for path in folder.rglob("*")):
        if path.suffix in (".py", ".cu", ".md"):
            with contextlib.suppress(OSError):  # gone since it was listed: the hash differs all the same
                digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def forged_bytecode(zoo: Path, since_ns: int) -> list[Path]:
    """Cached bytecode of the zoo and of this package, changed since then, that is not what its source compiles to: this interpreter would
    run it in place of the source."""
    tag, found = sys.implementation.cache_tag, []
    folders = (Path(zoo), Path(__file__).parent)
    for path in (path for folder in folders for end in ("", ".opt-[12]") for path in folder.rglob(f"__pycache__/*.{tag}{end}.pyc")):
        with contextlib.suppress(FileNotFoundError):  # replaced since it was listed
            if path.stat().st_ctime_ns >= since_ns and not _is_of_its_source(path):
                found.append(path)
    return found


def _is_of_its_source(path: Path) -> bool:
    name, _, rest = path.name.partition(".")
    level = int(rest[-5]) if ".opt-" in rest else 0
    try:
        source = (path.parent.parent / f"{name}.py").read_bytes()
        cached = marshal.loads(path.read_bytes()[BYTECODE_HEADER_BYTES:])
        return cached == compile(source, name, "exec", dont_inherit=True, optimize=level)
    except (ValueError, EOFError, TypeError, SyntaxError, OSError):
        return False


def is_deterministic(entry: Entry) -> bool:
    """Whether the module states `DETERMINISTIC = True`; read, not imported."""
    return entry.source.exists() and bool(re.search(r"^DETERMINISTIC = True\b", entry.source.read_text(encoding="utf-8"), re.MULTILINE))


def front_value(entry: Entry, key: str) -> str | None:
    """A one-line value of the page's front matter, without quotes; None without page or key."""
    page = entry.folder / f"{entry.name}.md"
    if not page.exists():
        return None
    front = page.read_text(encoding="utf-8").split("\n---", 1)[0]
    line = re.search(rf"^{key}:\s*(.+?)\s*$", front, re.MULTILINE)
    return line[1].strip("\"'") if line else None


def front_list(entry: Entry, key: str) -> list[str]:
    """A one-line list `[a, b]` of the page's front matter; empty without it."""
    value = front_value(entry, key) or ""
    return [word.strip(" \"'") for word in value.strip("[]").split(",") if word.strip(" \"'")] if value.startswith("[") else []


def targets(operator: str, impl: str, zoo: Path = ZOO) -> list[str]:
    """The compile targets in the front matter of `<impl>.md`, such as `["sm_80", "sm_90a"]`; empty without that line."""
    page = zoo / operator / f"{impl}.md"
    if not page.exists():
        return []
    front = page.read_text(encoding="utf-8").split("\n---", 1)[0]
    line = re.search(r"^targets:\s*\[([^\]]*)\]", front, re.MULTILINE)
    return [word.strip(" \"'") for word in line[1].split(",") if word.strip()] if line else []


def parent_of(entry: Entry) -> str | None:
    """The id in the `parent` line of its page, such as `zoo/copy/cuda_vector`; None without a page or that line."""
    return front_value(entry, "parent")


def gpu_slug(name: str) -> str:
    """Folder name of a product: `NVIDIA H200` -> `nvidia-h200`."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def record_path(operator: str, impl: str, slug: str, zoo: Path = ZOO) -> Path:
    """Where the record of that GPU (or of the compile lane) is kept."""
    return entry_record_path(Entry(operator, impl, zoo / operator), slug)


def entry_record_path(entry: Entry, slug: str) -> Path:
    """The same of an entry: beside its source."""
    return entry.folder / "validation" / slug / f"{entry.name}.json"


def record_status(operator: str, impl: str, gpu: str | None = None, zoo: Path = ZOO) -> RecordStatus:
    """The state of the record on `gpu` (a slug), or the best one over all GPUs."""
    folders = sorted(path for path in (zoo / operator / "validation").glob("*") if path.is_dir() and path.name != COMPILE_FOLDER)
    slugs = [gpu] if gpu else [path.name for path in folders]
    states = [_status_on(operator, impl, slug, zoo) for slug in slugs]
    order = ("valid", "stale", "rejected", "missing")
    return min(states, key=lambda state: order.index(state.status)) if states else _status_on(operator, impl, None, zoo)


def _status_on(operator: str, impl: str, slug: str | None, zoo: Path) -> RecordStatus:
    command = f"python -m kernel_wiki.harness validate {operator}/{impl}"
    path = record_path(operator, impl, slug, zoo) if slug else None
    if path is None or not path.exists():
        return RecordStatus("missing", slug, "no record", command)
    record = json.loads(path.read_text(encoding="utf-8"))
    now = source_hashes(operator, impl, zoo)
    changed = sorted(name for name in {*now, *record["hashes"]} if now.get(name) != record["hashes"].get(name))
    if changed:
        return RecordStatus("stale", slug, f"changed since: {', '.join(changed)}", command)
    if record["verdict"] != "accepted":
        return RecordStatus("rejected", slug, record.get("hint") or "rejected", command)
    return RecordStatus("valid", slug, "", command)
