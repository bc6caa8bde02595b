"""What runs on the other machine of `remote.py`: it is sent there as text, so it imports nothing of Warplore.

    python3 -c BOOTSTRAP nonce archive_bytes device names arguments...

Standard input: `archive_bytes` of a tar archive of the sources, then nothing until the near side goes away; the end of that input
while the harness still runs means just that, and stops it. Standard output: a line `nonce length`, then a tar archive of the records.
Everything that the harness prints goes to standard error. The folder made for all this is removed however it ends; what Triton and
torch.compile cache in their own folders stays, as after any run.
"""

import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading

OLDEST_PYTHON = (3, 11)
PYTHON_TOO_OLD, NO_TORCH, NO_GPU, BROKEN_ARCHIVE, LEFT_ALONE = 81, 82, 83, 84, 130
"""Exit statuses before or instead of the harness's own, which are 0, 1 and 2."""
ASK_FOR_GPU = "import sys, torch; sys.exit(0 if torch.cuda.is_available() else 83)"
STOP_S = 5
"""Between the request to end and the killing of what has not."""


def main(nonce, archive_bytes, device, names, *arguments):
    """Unpack, run, pack; gives the exit status."""
    if sys.version_info < OLDEST_PYTHON:
        print("python there is", sys.version.split()[0], file=sys.stderr)
        return PYTHON_TOO_OLD
    data = sys.stdin.buffer.read(int(archive_bytes))
    if len(data) != int(archive_bytes):
        return BROKEN_ARCHIVE
    folder = tempfile.mkdtemp(prefix="warplore-")
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        status = lacking(device) or harness(folder, arguments)
        packed = pack(os.path.join(folder, "out"), set(names.split(",")))
        sys.stdout.buffer.write(f"\n{nonce} {len(packed)}\n".encode() + packed)
        sys.stdout.buffer.flush()
        return status
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def lacking(device):
    """The exit status for what this machine lacks, 0 when it lacks nothing."""
    probe = ASK_FOR_GPU if device != "cpu" else "import torch"
    status = subprocess.call([sys.executable, "-c", probe], stdin=subprocess.DEVNULL, stdout=sys.stderr)
    return {0: 0, NO_GPU: NO_GPU}.get(status, NO_TORCH)


def harness(folder, arguments):
    """The harness's exit status; LEFT_ALONE when the near side went away while it ran."""
    command = [sys.executable, "-m", "kernel_wiki.harness", *arguments, "--out", os.path.join(folder, "out")]
    kept = {name: os.path.join(folder, name) for name in ("WARPLORE_FAILURES", "WARPLORE_KERNEL_CACHE")}
    process = subprocess.Popen(
        command, cwd=folder, env=dict(os.environ, **kept), stdin=subprocess.DEVNULL, stdout=sys.stderr, start_new_session=True
    )
    left = threading.Event()

    def watch():
        while os.read(0, 4096):  # not sys.stdin: a thread that waits in a buffered read would keep the interpreter from ending
            pass
        left.set()
        stop(process)

    threading.Thread(target=watch, daemon=True).start()
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, lambda *_: (left.set(), threading.Thread(target=stop, args=(process,)).start()))
    status = process.wait()
    return LEFT_ALONE if left.is_set() else status


def stop(process):
    """End the harness with all its workers, at once if it does not end itself."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(STOP_S)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def pack(folder, names):
    """A tar archive of the records of `names` (`operator/name`) below `folder`."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for trail, _, files in sorted(os.walk(folder)):
            for file in sorted(files):
                path = os.path.join(trail, file)
                inside = os.path.relpath(path, folder).split(os.sep)
                if len(inside) == 4 and inside[1] == "validation" and "/".join((inside[0], file[: -len(".json")])) in names:
                    archive.add(path, "/".join(inside))
    return stream.getvalue()
