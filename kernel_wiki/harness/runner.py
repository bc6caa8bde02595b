"""The candidate's process: `python -m kernel_wiki.harness.runner FD DEVICE`. It holds the candidate and the data it is given, nothing else.

The referee sends pickled commands over the socket FD and gets JSON back: what comes out of this process is never unpickled. A command
is `{do, token, ...}`; the answer is `{token, ...}` or `{token, finding: {...}}`. Tensors in commands are the referee's, shared: CUDA IPC
on a GPU, mapped files on the CPU. Results are copied into buffers of the referee, so that it alone decides what they are worth.
"""

from __future__ import annotations

import functools
import json
import os
import pickle
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import Any

from . import sandbox
from .findings import Rejected, from_exception


def main(arguments: list[str]) -> int:
    """Answer commands until the referee closes the socket."""
    given_up = sandbox.enter()
    if arguments[1] == "cpu":
        sandbox.keep_signals_inside()
    connection = Connection(int(arguments[0]))
    if os.environ.get("TRITON_INTERPRET") == "1":
        from .interpreter import repair

        repair()
    runner = Runner(functools.partial(recv_handle, connection))
    codes, kept = tuple((function, function.__code__) for function in runner.lookouts()), ()
    connection.send_bytes(json.dumps({"ready": True, **given_up}).encode())
    receive, send, loads, dumps = connection.recv_bytes, connection.send_bytes, pickle.loads, json.dumps
    while True:
        try:
            command = loads(receive())
        except EOFError:
            return 0
        token, do = command.pop("token"), command.pop("do")
        try:
            answer = getattr(runner, f"do_{do}")(**command)
            if "replaced" in answer:  # looked at from this frame, whose code and names no other can change: is what looks still itself?
                kept = kept or (runner.before, runner.threads, runner.fixed)
                changed = [function.__qualname__ for function, code in codes if function.__code__ is not code]
                same = runner.before is kept[0] and runner.threads is kept[1] and runner.fixed is kept[2]
                answer["replaced"] = changed + ([] if same else ["Runner.before"]) + answer["replaced"]
        except SystemExit:
            raise
        except BaseException as error:
            answer = {"finding": from_exception(error, runner.stage, runner.source).as_dict()}
        send(dumps({**answer, "token": token}).encode())


class Runner:
    """The loaded candidate, the data bound to it, and what it returned last."""

    def __init__(self, receive: Callable[[], int]) -> None:
        """Args: receive: returns the next descriptor that the referee sent."""
        import torch
        import torch.multiprocessing
        import torch.profiler
        import torch.testing
        import torch.utils._python_dispatch

        from . import cheats, timing
        from .shared import Mapped

        self.receive = receive
        self.torch, self.cheats, self.timing, self.mapped = torch, cheats, timing, Mapped
        self.device, self.stage, self.source = "cpu", "static", None
        self.run: Any = None
        self.inputs: dict[str, tuple[Any, ...]] = {}
        self.buffers: tuple[Any, ...] = ()
        self.taken: tuple[Any, ...] = ()
        """Outputs of the last call, kept alive so that the next one cannot return them again unseen."""
        self.clock: Any = None
        self.graph: Any = None
        self.kept: Any = None
        """Outputs that the captured graph writes to."""
        self.last: Any = None
        """Outputs of the last call of a burst."""
        self.before: Any = None
        self.threads: tuple[Any, ...] = ()
        self.seen: set[str] = set()
        """Torch operators of all calls so far, on the CPU only: there no time is measured."""
        self.synchronize, self.current_stream = torch.cuda.synchronize, torch.cuda.current_stream
        self.empty, self.clone, self.copy, self.hold = torch.empty, torch.Tensor.clone, torch.Tensor.copy_, torch.cuda._sleep
        self.storage = torch.Tensor.untyped_storage
        fixed = {name: value for name, value in vars(self).items() if callable(value) or name in ("torch", "cheats", "timing")}
        self.fixed = MappingProxyType(fixed)

    def lookouts(self) -> list[Any]:
        """The functions that look for what a candidate replaced or had done by others."""
        own = [value for value in vars(Runner).values() if isinstance(value, FunctionType)]
        return own + [value for value in vars(self.cheats).values() if isinstance(value, FunctionType)]

    def do_load(self, source: str, operator: str, device: str, memory_fraction: float) -> dict[str, Any]:
        """Import the candidate."""
        import threading

        from .load import load_candidate

        self.device, self.source = device, Path(source)
        if device == "cuda":
            self.torch.cuda.set_per_process_memory_fraction(memory_fraction)
            self.torch.zeros(1, device="cuda")
        before, threads = MappingProxyType(self.cheats.snapshot()), tuple(threading.enumerate())
        self.run = load_candidate(self.source, operator)
        self.before, self.threads = before, threads
        self.stage = "run"
        return self.do_tampered()

    def do_bind(self, slot: str, inputs: tuple[Any, ...]) -> dict[str, Any]:
        """Name some inputs."""
        self.inputs[slot] = self._opened(inputs)
        return {}

    def do_rebind(self, slot: str, values: dict[int, Any]) -> dict[str, Any]:
        """Other values for some inputs of a slot, by index."""
        self.inputs[slot] = tuple(values.get(index, value) for index, value in enumerate(self.inputs[slot]))
        return {}

    def do_buffers(self, buffers: tuple[Any, ...]) -> dict[str, Any]:
        """Where the referee wants outputs."""
        self.buffers = self._opened(buffers)
        return {}

    def do_release(self) -> dict[str, Any]:
        """Forget all data of a case."""
        self.inputs, self.buffers, self.taken = {}, (), ()
        self.graph, self.kept, self.last = None, None, None
        if self.device == "cuda":
            self.torch.cuda.empty_cache()
            self.torch.cuda.ipc_collect()
        return {}

    def do_call(self, slot: str, late: str | None = None) -> dict[str, Any]:
        """Call once in poisoned memory; outputs as a caller on this stream would see them go to the buffers.

        With `late` the data of that slot is written to the inputs on this stream a moment after the call was made.
        """
        self._poison()
        earlier = {self._address(out) for out in self.taken if out.numel()}
        if late is not None:
            if self.device == "cuda":
                self.hold(LATE_CYCLES)
            self._write(slot, late)
        call = lambda: self.run(*self.inputs[slot])  # noqa: E731
        outputs = _unpacked(self._watched(call) if self.device == "cpu" else call())
        self._check_form(outputs, self.inputs[slot], earlier)
        self._wait_for_stream()
        seen = tuple(self.clone(out) for out in outputs)
        self._synchronize()
        self.taken = outputs
        return self._hand_over(seen)

    def do_late(self) -> dict[str, Any]:
        """The outputs of the last call again, now that everything has finished."""
        self._synchronize()
        return self._hand_over(self.taken)

    def do_warm(self, slot: str, count: int) -> dict[str, Any]:
        """Call some times: compilation and autotuning are over then."""
        for _ in range(count):
            self.run(*self.inputs[slot])
        self._synchronize()
        self.taken = ()
        return {}

    def do_time(self, slot: str, cold: bool, keep: bool, late: str | None = None) -> dict[str, Any]:
        """Device time of one call, with the L2 emptied before it or filled by a call before it; `keep` hands over its outputs.

        With `late` the inputs get the data of that slot on the held stream: work on another one has only the old data to read.
        """
        self.clock = self.clock or self.timing.Clock()
        inputs = self.inputs[slot]

        def before() -> None:
            if late is not None:
                self._write(slot, late)
            self.clock.flush() if cold else self.run(*inputs)

        elapsed_us, outputs = self.clock.elapsed_us(lambda: self.run(*inputs), before)
        if keep:
            outputs = _unpacked(outputs)
            self._check_form(outputs, inputs, set())
            self._hand_over(outputs)
        return {"us": elapsed_us}

    def do_capture(self, slot: str) -> dict[str, Any]:
        """Record a call as a CUDA graph; `{error}` where that is not possible."""
        self.graph = None
        try:
            graph = self.torch.cuda.CUDAGraph()
            with self.torch.cuda.graph(graph):
                self.kept = self.run(*self.inputs[slot])
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"[:200]}
        self.graph = graph
        return {}

    def do_replay(self, cold: bool) -> dict[str, Any]:
        """Device time of one replay of the captured call."""
        self.clock = self.clock or self.timing.Clock()
        return {"us": self.clock.elapsed_us(self.graph.replay, self.clock.flush if cold else self.graph.replay)[0]}

    def do_burst(self, slot: str, count: int) -> dict[str, Any]:
        """Many calls or replays one after the other, then wait: the referee holds the clock."""
        call = self.graph.replay if self.graph is not None else lambda: self.run(*self.inputs[slot])
        for _ in range(count):
            last = call()
        self._synchronize()
        self.last = self.kept if self.graph is not None else last
        return {}

    def do_last(self, slot: str) -> dict[str, Any]:
        """The outputs that the burst left."""
        outputs = _unpacked(self.last)
        self._check_form(outputs, self.inputs[slot], set())
        return self._hand_over(outputs)

    def do_host(self, slot: str, count: int) -> dict[str, Any]:
        """Host time of a call that does not wait for the device."""
        return {"us": self.timing.wall_us(lambda: self.run(*self.inputs[slot]), count, wait=False)}

    def do_observe(self, slot: str, moves: bool) -> dict[str, Any]:
        """`{operators, kernels}`: torch operators beyond allocation, views and copies, and kernels of libraries, in one call.

        With `moves` copies are listed too: the operator does nothing else.
        """
        call = lambda: self.run(*self.inputs[slot])  # noqa: E731
        if self.device == "cuda":
            return {"operators": self.cheats.operators(call, moves), "kernels": self.cheats.foreign_kernels(call)}
        children = self.cheats.work_of_children(lambda: self._watched(call))
        interpreted = "triton" in self.source.read_text(encoding="utf-8")  # Triton's interpreter copies what a kernel is given
        return {"operators": self.cheats.own_work(self.seen, moves and not interpreted), "kernels": children}

    def _watched(self, call: Callable[[], Any]) -> Any:
        """What a call on the CPU returns. All are watched: one that looks whether it is the observed call learns nothing."""
        answer, names = self.cheats.host_operators(call)
        self.seen |= names
        return answer

    def do_tampered(self) -> dict[str, Any]:
        """`{replaced, threads}` since before the candidate was loaded."""
        return {"replaced": self.cheats.replaced(self.before) + self._overridden(), "threads": self.cheats.new_threads(self.threads)}

    def _overridden(self) -> list[str]:
        """Attributes of this object and of its clock that stand for something else now."""
        changed = [name for name, value in self.fixed.items() if getattr(self, name) is not value]
        changed += [name for name in vars(self) if name in vars(Runner)]
        of_clock = () if self.clock is None else (name for name in vars(self.clock) if name in vars(self.timing.Clock))
        if self.clock is not None and type(self.clock) is not self.timing.Clock:
            changed.append("clock")
        return [f"Runner.{name}" for name in changed] + [f"Clock.{name}" for name in of_clock]

    def _opened(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(value.open(self.receive) if isinstance(value, self.mapped) else value for value in values)

    def _check_form(self, outputs: tuple, inputs: tuple, earlier: set[int]) -> None:
        tensor = self.torch.Tensor
        if len(outputs) != len(self.buffers):
            raise Rejected("correctness", "type", f"{len(outputs)} outputs; the contract asks for {len(self.buffers)}")
        taken = {self._address(value) for value in inputs if isinstance(value, tensor)}
        for index, (out, asked) in enumerate(zip(outputs, self.buffers)):
            if type(out) is not tensor:
                raise Rejected("correctness", "cheat", f"output {index} is a {type(out).__name__}, not exactly torch.Tensor")
            if vars(out):
                own = ", ".join(map(str, vars(out)))
                raise Rejected("correctness", "cheat", f"output {index} has attributes of its own, which hide those of a tensor: {own}")
            form, wanted = ([*out.shape], out.dtype, out.device.type), ([*asked.shape], asked.dtype, asked.device.type)
            if form != wanted:
                raise Rejected("correctness", "type", f"output {index} has another form", expected=str(wanted), actual=str(form))
            if out.layout is not self.torch.strided or out.is_neg() or out.is_conj() or out._is_zerotensor():
                raise Rejected("correctness", "cheat", f"output {index} is not stored as it reads: {out.layout}, or changed on reading")
            if not out.is_contiguous():
                strides = f"strides {[*out.stride()]}"
                raise Rejected("correctness", "type", f"output {index} is not contiguous", expected=f"{wanted}, contiguous", actual=strides)
            address = self._address(out)
            if out.numel() and address in taken:
                raise Rejected("correctness", "cheat", f"output {index} shares its memory with an input or another output")
            if out.numel() and address in earlier:
                raise Rejected(
                    "correctness", "cheat", f"output {index} is the memory that an earlier call returned, and its caller still holds"
                )
            taken.add(address)

    def _address(self, value: Any) -> int:
        """Of a tensor's memory, by the class's own method: an attribute of the tensor would be asked first."""
        return self.storage(value).data_ptr()

    def _hand_over(self, outputs: tuple) -> dict[str, Any]:
        for out, buffer in zip(outputs, self.buffers):
            self.copy(buffer, out)
        self._synchronize()
        return {}

    def _write(self, slot: str, source: str) -> None:
        """Other data at the same addresses, in the order of this stream; `.data`, so that no version counter moves."""
        for old, new in zip(self.inputs[slot], self.inputs[source]):
            if isinstance(old, self.torch.Tensor):
                self.copy(old.data, new)

    def _poison(self) -> None:
        """Leave NaN in the allocator's free blocks of each output's size, so that an element never written shows."""
        blocks = [
            self.empty(max(1, buffer.numel()) * size, dtype=self.torch.uint8, device=self.device).fill_(0xFF)  # NaN in every float format
            for buffer in self.buffers
            for size in {buffer.element_size(), 4}
            for _ in range(POISON_COPIES if buffer.numel() < POISON_TWICE_BELOW else 1)
        ]
        del blocks

    def _wait_for_stream(self) -> None:
        if self.device == "cuda":
            self.current_stream().synchronize()

    def _synchronize(self) -> None:
        if self.device == "cuda":
            self.synchronize()


def _unpacked(outputs: Any) -> tuple[Any, ...]:
    """What a call returned as a tuple; a subclass of list or tuple is no output, for it may compute when it is unpacked."""
    return tuple(outputs) if type(outputs) in (tuple, list) else (outputs,)


LATE_CYCLES = 6_000_000
"""The stream is held this long (about 3 ms) before late data, so that a kernel on another stream has started by then."""
POISON_COPIES = 2
"""NaN buffers freed for each output, so that one is left for the output when the candidate also takes scratch memory."""
POISON_TWICE_BELOW = 1 << 28
"""Elements; larger outputs are poisoned once, since the copies cost gigabytes."""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
