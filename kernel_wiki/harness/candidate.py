"""The referee's side of a runner: start it, ask it, stop it in time, and turn its death into a finding."""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import socket
import struct
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler, send_handle
from typing import Any

from . import sandbox
from .discover import Entry
from .findings import CATEGORIES, STAGES, Finding, Rejected, from_exit

START_TIMEOUT_S = 120
"""To import torch and Triton on a busy host."""
POLL_S = 0.2
HOST_MEMORY_BYTES = 48 << 30
"""A candidate that holds more host memory is stopped; torch with CUDA and a compiler take two or three gigabytes."""
OUTPUT_BYTES = 1 << 30
"""A candidate that prints more is stopped."""
ANSWER_BYTES = 1 << 20
ANSWER_S = 30
"""For the rest of an answer, once it has begun."""
TAIL_CHARACTERS = 4000


class Candidate:
    """One runner process. Every `ask` returns within its deadline: a runner that hangs or dies becomes a Rejected."""

    def __init__(self, entry: Entry, device: str, memory_fraction: float = 0.5) -> None:
        """Starts the process, which imports torch and holds no GPU until `load`."""
        self.entry, self.device, self.memory_fraction = entry, device, memory_fraction
        self.stage, self.case = "static", ""
        ours, theirs = socket.socketpair()
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            ours.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", ANSWER_S, 0))
        self._output = tempfile.TemporaryFile()  # noqa: SIM115
        command = [sys.executable, "-m", "kernel_wiki.harness.runner", str(theirs.fileno()), device]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        self._connection = Connection(ours.detach())
        self.isolation: dict[str, str] | None = None

    def load(self, timeout_s: float) -> dict[str, Any]:
        """Import the candidate there.

        Raises:
            Rejected: it cannot be imported, or importing it replaced functions.
        """
        if self.isolation is None:
            ready = self._receive(START_TIMEOUT_S)
            self.isolation = {"network": str(ready.get("network"))}
        return self.ask("load", timeout_s, source=str(self.entry.source), operator=self.entry.operator, device=self.device,
                        memory_fraction=self.memory_fraction)  # fmt: skip

    def ask(self, do: str, timeout_s: float, **arguments: Any) -> dict[str, Any]:
        """The runner's answer to one command.

        Raises:
            Rejected: the candidate failed, the process died, or there was no answer in time.
        """
        message, token = io.BytesIO(), secrets.token_hex(8)
        ForkingPickler(message).dump({"do": do, "token": token, **arguments})
        try:
            self._connection.send_bytes(message.getbuffer())
            for descriptor in _descriptors(arguments):
                send_handle(self._connection, descriptor, self.process.pid)
        except OSError:
            raise self._died() from None
        answer = self._receive(timeout_s)
        if answer.get("token") != token:
            self.close()
            raise Rejected(
                self.stage,
                "cheat",
                "the process gave an answer to no question: somebody wrote to the judge's socket",
                case=self.case or None,
            )
        if "finding" in answer:
            raise self._found(answer["finding"])
        return answer

    def _receive(self, timeout_s: float) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_s
        while not self._connection.poll(POLL_S):
            if self.process.poll() is not None and not self._connection.poll(0):  # a child of its may hold the socket still
                raise self._died()
            if os.fstat(self._output.fileno()).st_size > OUTPUT_BYTES:
                self.close()
                raise Rejected(self.stage, "resource", f"printed more than {OUTPUT_BYTES >> 30} GiB", case=self.case or None)
            if sandbox.resident_bytes(self.process.pid) > HOST_MEMORY_BYTES:
                self.close()
                raise Rejected(
                    self.stage, "resource", f"took more than {HOST_MEMORY_BYTES >> 30} GiB of host memory", case=self.case or None
                )
            if time.monotonic() > deadline:
                self.close()
                hint = f"no answer within {timeout_s:.0f} s; the process was killed"
                raise Rejected(self.stage, "hang", hint, case=self.case or None)
        try:
            answer = json.loads(self._connection.recv_bytes(ANSWER_BYTES))
        except BlockingIOError:
            self.close()
            hint = f"somebody wrote to the judge's socket: the rest of an answer did not come within {ANSWER_S} s"
            raise Rejected(self.stage, "cheat", hint, case=self.case or None) from None
        except (EOFError, OSError):
            raise self._died() from None
        except (ValueError, RecursionError):
            raise Rejected(self.stage, "cheat", "the process answered with something that is no JSON", case=self.case or None) from None
        if not isinstance(answer, dict):
            raise Rejected(self.stage, "cheat", "the process answered with something that is no object", case=self.case or None)
        return answer

    def _found(self, told: Any) -> Rejected:
        """A finding as the process tells it; whatever it holds, it is one."""
        told = told if isinstance(told, dict) else {}
        found = {key: told[key] if isinstance(told.get(key), str) else None for key in Finding.__slots__}
        index = told.get("first_bad")
        known = found["stage"] in STAGES and found["category"] in CATEGORIES and found["hint"] is not None
        if not known:
            return Rejected(self.stage, "cheat", "the process answered with a finding of no known form", case=self.case or None)
        first_bad = tuple(index) if isinstance(index, list) and index and all(isinstance(part, int) for part in index) else None
        return Rejected(**{**found, "case": found["case"] or self.case or None, "first_bad": first_bad})

    def _died(self) -> Rejected:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        found = from_exit(self.process.poll() or 0, self.stage, self.case, self.tail())
        return Rejected(found.stage, found.category, found.hint, case=found.case)

    def tail(self) -> str:
        """The end of what it printed."""
        file = self._output.fileno()  # the child writes at the offset that both share: read without moving it
        start = max(0, os.fstat(file).st_size - TAIL_CHARACTERS)
        return os.pread(file, TAIL_CHARACTERS, start).decode("utf-8", "replace")

    def close(self) -> None:
        """Kill the process, its group and what descends from it."""
        sandbox.end(self.process)
        self._connection.close()


def _descriptors(arguments: dict[str, Any]) -> list[int]:
    """Of the files among the values that a command names, in the order in which the runner opens them."""
    from .shared import Mapped  # imports torch, which the process above does not wait for

    tuples = (value for value in arguments.values() if isinstance(value, tuple))
    return [value.descriptor for values in tuples for value in values if isinstance(value, Mapped)]
