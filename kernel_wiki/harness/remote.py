"""Judge entries on another machine over one ssh connection: sources go there, records come back, nothing stays.

    records = validate([entry], Remote("user@machine"), say=print)

The other machine needs Python 3.11, torch and the CUDA toolkit. The harness and the operators' folders travel as a tar archive into a
fresh temporary folder there, which is removed however the run ends, also when this side is interrupted (`remote_side.py`). What comes
back is read as data: only records that were asked for, and only if their hashes are those of the sources that were sent.
Imports no torch.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import re
import secrets
import shlex
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import remote_side
from .discover import Entry

PACKAGE = Path(__file__).resolve().parent
SUFFIXES = (".py", ".cu", ".cuh", ".md", ".json")
SSH_OPTIONS = ("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=15")
"""No terminal and no question; a machine that stops answering is noticed within a minute."""
HOST = re.compile(r"[A-Za-z0-9_][\w.-]*(@[A-Za-z0-9_\[][\w.:\[\]-]*)?|ssh://[A-Za-z0-9_\[][\w.:@\[\]-]*", re.ASCII)
"""What may stand after ssh's options: never something that starts with a dash."""
MAX_RECORDS_BYTES = 64 << 20
"""All records of the zoo are below 1 MiB."""
SSH_FAILED, NOT_FOUND = 255, 127
RECORD = re.compile(r"(\w+)/validation/[a-z0-9-]+/(\w+)\.json", re.ASCII)
"""Names in the archive that comes back; all else is passed over, and none is ever used as a path."""
CLOSE_S = 3 * remote_side.STOP_S
"""The far side has so long to stop what runs and to remove its folder."""
TAIL_LINES = 20
"""Of standard error, read for the reason when ssh itself failed."""


class RemoteError(Exception):
    """Why nothing came back, in one line with what to do; `exit_code` is the command's."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Remote:
    """The other machine and how to run there."""

    host: str
    """`user@machine`, a name of ssh's configuration, or `ssh://user@machine:port`."""
    python: str = "python3"
    """The interpreter there that has torch."""
    device: str = "cuda"
    """cuda or cpu, as the harness takes it."""


def validate(
    entries: list[Entry], remote: Remote, arguments: Iterable[str] = (), say: Callable[[str], None] = print
) -> list[dict[str, Any]]:
    """The records of `entries` made on the other machine, in their order; those that its harness left out are missing.

    Args:
        arguments: further options of `python -m kernel_wiki.harness validate`, such as `("--rounds", "50")`.
        say: takes what the other machine prints, a line at a time.

    Raises:
        RemoteError: there is no ssh, no way to the machine, or it lacks something; or the run ended without records.
    """
    if not HOST.fullmatch(remote.host):
        raise RemoteError(
            f'--host "{remote.host}" is no machine; write user@machine, a name of ssh\'s configuration or ssh://user@machine:port'
        )
    ssh = shutil.which("ssh")
    if ssh is None:
        raise RemoteError("--host needs the ssh client, which is not installed here (package openssh-client)")
    files = sources(entries)
    archive = pack(files)
    nonce = secrets.token_hex(16)
    names = ",".join(entry.id for entry in entries)
    outside = ["--outside"] if any(entry.contract is not None and not entry.is_attempt for entry in entries) else []
    options = ["validate", names, "--device", remote.device, *outside, *arguments]
    command = remote_command(remote.python, [nonce, str(len(archive)), remote.device, names, *options])
    status, output, tail = _converse([ssh, *SSH_OPTIONS, "--", remote.host, command], archive, say)
    records = read_records(_after(output, nonce), entries, files)
    if status not in (0, 1) or not records:
        raise RemoteError(explain(status, tail, remote))
    return records


def sources(entries: list[Entry]) -> dict[str, bytes]:
    """Path to content of the harness and of the entries' operator folders, laid out as in a checkout.

    A candidate from outside the zoo takes its place in the operator's folder, before any file of that name.
    """
    files = {f"kernel_wiki/harness/{path.name}": path for path in PACKAGE.glob("*.py")}
    files["kernel_wiki/__init__.py"] = PACKAGE.parent / "__init__.py"
    for entry in entries:
        home = entry.contract_path.parent
        for path in (*home.glob("*"), *home.glob("validation/*/*")):
            if path.is_file() and path.suffix in SUFFIXES:
                files[f"kernel_wiki/zoo/{entry.operator}/{path.relative_to(home).as_posix()}"] = path
    for entry in entries:
        for path in (*map(entry.source.with_suffix, (".py", ".cu", ".md")), *entry.folder.glob("*.cuh")):
            files[f"kernel_wiki/zoo/{entry.operator}/{path.name}"] = path
    return {name: path.read_bytes() for name, path in sorted(files.items()) if path.is_file()}


def pack(files: dict[str, bytes]) -> bytes:
    """A tar archive of them; the same bytes for the same files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in files.items():
            item = tarfile.TarInfo(name)
            item.size = len(data)
            archive.addfile(item, io.BytesIO(data))
    return stream.getvalue()


def remote_command(python: str, arguments: list[str]) -> str:
    """One line for the login shell there, whichever that is: the far side's source travels in base64, every other word is quoted."""
    source = base64.b64encode(Path(remote_side.__file__).read_bytes()).decode("ascii")
    bootstrap = f"import base64,sys;exec(base64.b64decode('{source}'));sys.exit(main(*sys.argv[1:]))"
    return " ".join(shlex.quote(word) for word in (python, "-c", bootstrap, *arguments))


def _converse(command: list[str], archive: bytes, say: Callable[[str], None]) -> tuple[int, bytes, list[str]]:
    """`(exit status, standard output, last lines of standard error)`; standard input stays open, since its end stops the far side."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    tail: list[str] = []

    def listen() -> None:
        with io.TextIOWrapper(process.stderr, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                tail[:] = [*tail, line.rstrip()][-TAIL_LINES:]
                say(line.rstrip())

    def send() -> None:
        with contextlib.suppress(OSError):  # the far side is gone: its exit status says why
            process.stdin.write(archive)
            process.stdin.flush()

    listener, sender = (threading.Thread(target=work, daemon=True) for work in (listen, send))
    listener.start()
    sender.start()
    try:
        output = process.stdout.read(MAX_RECORDS_BYTES)
    except KeyboardInterrupt:
        raise RemoteError("interrupted; the run there is stopped and its folder removed, and no record was written", 130) from None
    finally:
        status = _end(process, sender)
        process.stdout.close()
        listener.join(1)
    return status, output, tail


def _end(process: subprocess.Popen[bytes], sender: threading.Thread) -> int:
    """Close the connection, which stops what still runs there, and give ssh's exit status."""
    sender.join(1)
    with contextlib.suppress(OSError):
        process.stdin.close() if not sender.is_alive() else process.terminate()
    try:
        return process.wait(CLOSE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _after(output: bytes, nonce: str) -> bytes:
    """The archive behind the line `nonce length`; what a login script printed before it is passed over."""
    found = re.search(rf"\n{nonce} (\d+)\n".encode(), output)
    return output[found.end() : found.end() + int(found[1])] if found else b""


def read_records(archive: bytes, entries: list[Entry], files: dict[str, bytes]) -> list[dict[str, Any]]:
    """The records in the archive that belong to `entries` and to the `files` that were sent; everything else in it is passed over.

    Raises:
        RemoteError: it is no archive of JSON files.
    """
    try:
        found = dict(_json_files(archive)) if archive else {}
    except (tarfile.TarError, ValueError) as error:
        raise RemoteError(f"what came back cannot be read ({error}); no record was written") from error
    return [found[entry.id] for entry in entries if entry.id in found and _belongs(found[entry.id], entry, files)]


def _json_files(archive: bytes) -> Iterable[tuple[str, dict[str, Any]]]:
    """`(operator/name, content)` of each `operator/validation/<gpu>/<name>.json`."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            match = RECORD.fullmatch(member.name)
            if match and member.isfile():
                yield f"{match[1]}/{match[2]}", json.load(tar.extractfile(member))


def _belongs(record: Any, entry: Entry, files: dict[str, bytes]) -> bool:
    """It is of that entry, and each hash in it is that of a file that was sent, the entry's own among them."""
    if not isinstance(record, dict) or (record.get("operator"), record.get("impl")) != (entry.operator, entry.name):
        return False
    hashes = record.get("hashes") or {}
    sent = {name: hashlib.sha256(files.get(f"kernel_wiki/zoo/{entry.operator}/{name}", b"")).hexdigest() for name in hashes}
    return hashes == sent and {entry.source.name, "contract.py"} <= hashes.keys()


def explain(status: int, tail: list[str], remote: Remote) -> str:
    """One line for a run without records: what happened there, and what to do."""
    said = " ".join(tail)
    last = f" ({tail[-1].strip()})" if tail else ""
    if status == SSH_FAILED:
        if "Permission denied" in said:
            return (
                f"{remote.host} refused the login{last}; the key must work without a prompt: try `ssh -o BatchMode=yes {remote.host} true`"
            )
        if "Host key verification failed" in said:
            return f"{remote.host}: its host key is not known or has changed; connect once with `ssh {remote.host}`"
        if re.search(r"resolve hostname|refused|timed out|No route|unreachable", said):
            return f"{remote.host} cannot be reached{last}"
        return f"the connection to {remote.host} ended before the records came back{last}"
    reasons = {
        NOT_FOUND: f"{remote.host} has no {remote.python}; name its interpreter with --remote-python",
        126: f"{remote.host} cannot run {remote.python}; name its interpreter with --remote-python",
        remote_side.PYTHON_TOO_OLD: f"{remote.python} on {remote.host} is too old: 3.11 is needed{last}; name another with --remote-python",
        remote_side.NO_TORCH: f"{remote.python} on {remote.host} cannot import torch; name an interpreter that can with --remote-python",
        remote_side.NO_GPU: f"torch on {remote.host} finds no GPU, so nothing was run",
        remote_side.BROKEN_ARCHIVE: f"the connection to {remote.host} ended while the sources were sent",
        remote_side.LEFT_ALONE: f"the run on {remote.host} was stopped before its end",
    }
    return reasons.get(status, f"the harness on {remote.host} ended with status {status} and no record{last}")
