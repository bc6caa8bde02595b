"""What a candidate's process gives up before it loads the candidate: the network, core dumps, a look into other processes, signals to them,
life after its referee. Linux only in part.

Runs before torch is imported: a user namespace needs a process with one thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000  # <linux/sched.h>
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 36, 38  # <linux/prctl.h>
CAPABILITY_VERSION_3 = 0x20080522  # <linux/capability.h>
INTO_OTHERS = {"dac_read_search": 2, "sys_module": 16, "sys_rawio": 17, "sys_ptrace": 19, "sys_admin": 21, "perfmon": 38, "bpf": 39,
               "checkpoint_restore": 40}  # fmt: skip
"""Capabilities by which root reads the memory of a process that conceals itself."""
LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 444, 446  # <asm-generic/unistd.h>, the same on every architecture
LANDLOCK_SCOPE_SIGNAL = 1 << 1  # <linux/landlock.h>, from Linux 6.12 on
SHARED_MEMORY = Path("/dev/shm")
KILL_ROUNDS = 50
KILL_PAUSE_S = 0.01


def enter() -> dict[str, str]:
    """Give up what can be given up and say what that was: `{"network": "none" | "open: reason"}`."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    adopt()
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        network = _leave_network(libc)
        _drop_capabilities(libc)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return {"network": network}
    return {"network": "open: this system has no namespaces"}


def keep_signals_inside() -> bool:
    """From now on this process and its descendants can signal each other and nobody else: no referee is stopped or ended. Whether the
    system knows how; call it after `enter`, before there are threads."""
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None, use_errno=True)
        attributes = (ctypes.c_uint64 * 3)(0, 0, LANDLOCK_SCOPE_SIGNAL)  # no rule about files or the network
        ruleset = libc.syscall(LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(ctypes.sizeof(attributes)), 0)
        if ruleset < 0:
            return False
        restricted = libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0) == 0
        os.close(ruleset)
        return restricted
    return False


def adopt() -> None:
    """Become the parent of descendants whose own parent ends, so that one which left the session is still found."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def conceal() -> None:
    """Keep memory and open files of this process from others of the same user: /proc/PID/mem, ptrace and their like are refused."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def kill_below(pid: int) -> None:
    """Kill whatever descends from a process, in whatever session, and not the process itself."""
    for _ in range(KILL_ROUNDS):
        found = descendants(pid)
        for each in found:
            with contextlib.suppress(OSError):
                os.kill(each, signal.SIGKILL)
        if not found:
            return
        time.sleep(KILL_PAUSE_S)


def end(process: subprocess.Popen) -> None:
    """Kill a process that leads its session, its group and what descends from it, and remove what it shared."""
    if process.poll() is None:
        kill_below(process.pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    remove_shared(process.pid)


def descendants(pid: int) -> list[int]:
    """Processes below one that have not ended; none where there is no /proc."""
    children: dict[int, list[int]] = {}
    ended = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, parent = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:2]
            children.setdefault(int(parent), []).append(int(path.parent.name))
            if state in "ZX":
                ended.add(int(path.parent.name))
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return [each for each in found if each not in ended]


def remove_shared(pid: int) -> None:
    """Remove the counters of CUDA IPC that torch left in shared memory for a process which has ended."""
    for path in SHARED_MEMORY.glob(f"torch_{pid}_*"):
        path.unlink(missing_ok=True)


def _leave_network(libc: ctypes.CDLL) -> str:
    """An empty network namespace: as root directly, otherwise inside a user namespace that keeps the user's id."""
    user, group = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWNET) == 0:
        return "none"
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        return f"open: {os.strerror(ctypes.get_errno())}"
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    return "none"


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Those of INTO_OTHERS, for this process and whatever it executes; a user without any loses nothing."""
    header, sets = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)()  # sets: effective, permitted, inheritable, twice
    if libc.capget(header, sets) != 0:
        return
    for bit in INTO_OTHERS.values():
        libc.prctl(PR_CAPBSET_DROP, bit, 0, 0, 0)
        for word in range(bit // 32 * 3, bit // 32 * 3 + 3):
            sets[word] &= ~(1 << bit % 32) & 0xFFFFFFFF
    libc.capset(header, sets)


def resident_bytes(pid: int) -> int:
    """Host memory that a process holds now; 0 when it is gone or the system does not say."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
