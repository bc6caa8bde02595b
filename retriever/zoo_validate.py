"""From `warplore zoo validate` to the judge: which candidates, on which machine, and what is kept of the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexer.errors import InputError, WarploreError, did_you_mean
from indexer.gpus import Gpu
from kernel_wiki.harness import discover
from kernel_wiki.harness.discover import Entry
from kernel_wiki.harness.findings import answer, rejected
from retriever.inputs import find_gpu
from retriever.zoo import limits_from, nearest_runnable, zoo_folder

if TYPE_CHECKING:
    from retriever.service import Warplore

NOT_RUN = "not-run"
"""The verdict where only the source was read: neither accepted nor rejected."""
NO_GPU = (
    "no GPU here, so nothing can be judged. Elsewhere: --host user@machine. Here: --gpu NAME reads the source against that GPU's limits, "
    "--device cpu checks small cases of a Triton kernel in the interpreter"
)


class HostError(WarploreError):
    """The other machine could not be used, or the run there was interrupted."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asked for."""

    gpu: str = "auto"
    device: str = "cuda"
    rounds: int = 30
    operator: str | None = None
    out: Path | None = None
    replay: Path | None = None
    host: str | None = None
    remote_python: str = "python3"


def validate(core: Warplore, what: str, request: Request, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """The answer for each candidate that `what` names: judged here or on `request.host`, or read only for a GPU that is not here.

    Raises:
        InputError: nothing has that name, or what was asked for does not go together, or there is no GPU.
        HostError: the other machine could not be used.
    """
    if request.device not in ("cuda", "cpu"):
        raise InputError(f'--device "{request.device}" is none of: cuda, cpu')
    entries = candidates(core, what, request.operator)
    if request.host and (request.gpu != "auto" or request.replay):
        raise InputError(f"--host runs on the GPU of {request.host}; leave out {'--replay' if request.replay else '--gpu'}")
    if request.host:
        return _on_host(core, entries, request, say)
    named = None if request.gpu == "auto" else find_gpu(request.gpu, core.gpus)
    if named and not _same(named, _installed(core)):
        return [_read_for(core, entry, named) for entry in entries]
    return _here(core, entries, request, say)


def candidates(core: Warplore, what: str, operator: str | None = None) -> list[Entry]:
    """The entries of that name, or the one candidate in the file `what`.

    A file outside the corpus is judged by the contract beside it, else by that of `operator`.

    Raises:
        InputError: no such entry or file, or nobody says which operator the file is for.
    """
    zoo, path = zoo_folder(core), Path(what)
    if path.suffix != ".py":
        try:
            return discover.select(what.removeprefix("zoo/"), zoo)
        except LookupError as error:
            raise InputError(str(error)) from error
    if not path.is_file():
        raise InputError(f"{what}: no such file")
    if not path.stem.isidentifier():
        raise InputError(f"{what}: the name of a candidate must be a Python identifier; rename it")
    folder = path.resolve().parent
    known = discover.operators(zoo)
    if folder.parent == zoo.resolve():
        return [Entry(folder.name, path.stem, zoo / folder.name)]
    if folder.parent == zoo.resolve().parent / discover.ATTEMPTS_FOLDER and folder.name in known:
        return [discover.attempt_entry(folder.name, path.stem, zoo)]
    if (folder / "contract.py").is_file():
        return [Entry(operator or folder.name, path.stem, folder, contract=folder / "contract.py")]
    if operator is None:
        raise InputError(f"{what}: which operator is it for? Give --operator NAME; there are: {', '.join(known)}")
    name = operator.removeprefix("zoo/")
    if name not in known:
        raise InputError(f'--operator "{operator}" is not in the zoo{did_you_mean(name, known) or ";"} there are: {", ".join(known)}')
    return [Entry(name, path.stem, folder, contract=zoo / name / "contract.py")]


def _same(named: Gpu, installed: Gpu | None) -> bool:
    """A product is itself; a bare compute capability is any product of it."""
    if installed is None:
        return False
    return named.id == installed.id or (named.product is None and named.compute_capability == installed.compute_capability)


def _installed(core: Warplore) -> Gpu | None:
    """The GPU of this machine; None without one, and for a product that the table does not know."""
    from kernel_wiki.harness.device import query_smi

    names = query_smi(("name",))
    try:
        return find_gpu(names[0], core.gpus) if names else None
    except InputError:
        return None


def _read_for(core: Warplore, entry: Entry, gpu: Gpu) -> dict[str, Any]:
    """What the source, the page and the compile record say about `gpu`; nothing runs."""
    from kernel_wiki.harness import static

    finding = static.check(entry, limits_from(gpu))
    if finding:
        return _form(core, entry, rejected(finding), gpu, ran=False)
    hint = f"nothing was run: no {gpu.name} here; reading the source, its page and its compile record found no fault"
    return _form(core, entry, {"verdict": NOT_RUN, "stage": "static", "hint": hint}, gpu, ran=False)


def _here(core: Warplore, entries: list[Entry], request: Request, say: Callable[[str], None]) -> list[dict[str, Any]]:
    from kernel_wiki.harness import judge

    if request.device == "cuda" and not judge.has_gpu():
        raise InputError(NO_GPU)
    gpu = _installed(core) if request.device == "cuda" else None
    chosen = [entry for entry in entries if request.device == "cuda" or not entry.has_cuda]
    kept: dict[str, Path] = {}

    def keep(records: list[dict[str, Any]]) -> None:
        kept.update(_write(core, chosen, records, request))

    options = judge.Options(
        device=request.device,
        rounds=request.rounds if request.device == "cuda" else 0,
        zoo=zoo_folder(core),
        limits=limits_from(gpu) if gpu else None,
        say=say,
        keep=keep,
        **_replayed(request.replay, chosen),
    )
    records = judge.validate_many(chosen, options) if chosen else []
    keep(records)
    return _forms(core, entries, records, kept, gpu, "not run: CUDA C++ needs a GPU, and --device cpu has none")


def _replayed(path: Path | None, entries: list[Entry]) -> dict[str, Any]:
    """The judge's options for a saved failure: that case alone, with the seed that made its data."""
    if path is None:
        return {}
    from kernel_wiki.harness import shrink

    try:
        operator, name, case, seed, _ = shrink.read(path)
    except LookupError as error:
        raise InputError(str(error)) from error
    if [entry.operator for entry in entries] != [operator]:
        raise InputError(f"{path}: a failure of {operator}/{name}; replay it on one candidate for {operator}")
    return {"case": {"shape": case.shape, "dtype": case.dtype, "distribution": case.distribution}, "seed": seed}


def _on_host(core: Warplore, entries: list[Entry], request: Request, say: Callable[[str], None]) -> list[dict[str, Any]]:
    from kernel_wiki.harness import remote

    there = remote.Remote(request.host or "", request.remote_python, request.device)
    rounds = request.rounds if request.device == "cuda" else 0
    try:
        records = remote.validate(entries, there, ("--rounds", str(rounds)), say)
    except remote.RemoteError as error:
        raise HostError(str(error), error.exit_code) from error
    for record in records:
        record["replay"] = None  # a file of the other machine, gone with its folder
    kept = _write(core, entries, records, request)
    return _forms(core, entries, records, kept, None, f"no record came back from {request.host}; what it printed says why")


def _write(core: Warplore, entries: list[Entry], records: list[dict[str, Any]], request: Request) -> dict[str, Path]:
    """Entry id to the path of its record: below `--out`, or in the corpus for an entry of it that a GPU has judged in full."""
    from kernel_wiki.harness import record as record_file

    by_id = {entry.id: entry for entry in entries}
    written = {}
    for each in records:
        entry = by_id[f"{each['operator']}/{each['impl']}"]
        slug = discover.gpu_slug(each["gpu"]["name"])
        judged = each["verdict"] != "error" and not (each["hint"] or "").startswith("not timed")
        whole = request.device == "cuda" and not request.replay and not entry.is_wrong and judged
        if request.out:
            folder = request.out / discover.ATTEMPTS_FOLDER if entry.is_attempt else request.out
            written[entry.id] = record_file.write(each, discover.record_path(entry.operator, entry.name, slug, folder))
        elif whole and _id(core, entry) is not None:
            written[entry.id] = record_file.write(each, discover.entry_record_path(entry, slug))
    return written


def _id(core: Warplore, entry: Entry) -> str | None:
    """The id of an entry of the corpus; None for a candidate from elsewhere."""
    zoo, home = zoo_folder(core).resolve(), entry.folder.resolve().parent
    if home == zoo:
        return f"zoo/{entry.id}"
    return f"attempt/{entry.id}" if home == zoo.parent / discover.ATTEMPTS_FOLDER else None


def _forms(
    core: Warplore, entries: list[Entry], records: list[dict[str, Any]], kept: dict[str, Path], gpu: Gpu | None, why_not: str
) -> list[dict[str, Any]]:
    """An answer an entry; one without a record was not run, for the reason given."""
    by_id = {f"{record['operator']}/{record['impl']}": record for record in records}
    without = {"verdict": NOT_RUN, "hint": why_not}
    return [_form(core, e, by_id.get(e.id, without), gpu, ran=e.id in by_id, path=kept.get(e.id)) for e in entries]


def _form(core: Warplore, entry: Entry, result: dict[str, Any], gpu: Gpu | None, *, ran: bool, path: Path | None = None) -> dict[str, Any]:
    """The answer of fixed shape: every key always there, null where it does not apply."""
    form = {
        "id": _id(core, entry) or str(entry.source),
        "operator": entry.operator,
        "impl": entry.name,
        "gpu": result.get("gpu", {}).get("name") or (gpu.name if gpu else None),
        "ran": ran and result.get("stage") != "static",
        **answer(result),
        "record": str(path) if path else None,
        "cases": result.get("cases", []),
        "timings": result.get("timings", []),
        "sanitizer": result.get("sanitizer", {}),
    }
    if gpu and form["stage"] == "static" and form["category"] == "resource":
        near = nearest_runnable(core, entry.operator, gpu, other_than=f"zoo/{entry.id}")
        form["hint"] += (
            f"; nearest that runs there: {near}" if near else f"; nothing of {entry.operator} in the zoo runs there as it stands"
        )
    return form
