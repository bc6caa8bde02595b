"""What the runner looks at beside the answers: functions that the candidate replaced, threads it left, and whose code did its work."""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import resource
import sys
import threading
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

WATCHED = (
    *("time", "torch", "torch.cuda", "torch.cuda.streams", "torch.autograd.profiler", "torch.profiler", "torch.testing"),
    *("torch.nn.functional", "torch.utils._python_dispatch", "threading", "json", "multiprocessing.connection"),
    *("__main__", "kernel_wiki.harness.cheats", "kernel_wiki.harness.timing", "kernel_wiki.harness.findings"),
)
"""Modules whose functions and classes a candidate must leave as they were."""
OWN = ("__main__", "kernel_wiki.harness.cheats", "kernel_wiki.harness.timing", "kernel_wiki.harness.findings")
"""Whose constants it must leave too: a longer list of what is allowed is as good as another function."""
UNWATCHED = frozenset({("torch", "manual_seed")})
"""torch replaces this one itself once its compiler is imported (seen in 2.11)."""
VOLATILE = ("__dict__", "__doc__", "__weakref__", "__abstractmethods__", "_abc_impl")
WATCHED_CLASSES = (
    "torch.Tensor",
    "torch.cuda.Event",
    "torch.cuda.Stream",
    "torch.UntypedStorage",
    "__main__.Runner",
    "kernel_wiki.harness.timing.Clock",
)
"""Whose attributes must stay too, inherited ones among them: a method set on the class hides the one it inherits."""

ALLOWED_OPS = frozenset(
    f"aten::{name}"
    for name in (
        *("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "zeros", "zeros_like", "new_zeros", "ones"),
        *("full", "full_like", "new_full", "fill_", "zero_", "copy_", "clone", "detach", "alias", "_to_copy", "contiguous"),
        *("view", "_unsafe_view", "reshape", "_reshape_alias", "as_strided", "slice", "select", "narrow", "transpose", "permute", "t"),
        *("expand", "squeeze", "unsqueeze", "split", "split_with_sizes", "unbind", "flatten", "lift_fresh", "_local_scalar_dense"),
        *("is_pinned", "_pin_memory", "set_", "resize_", "record_stream"),
    )
)
"""Torch operators that allocate, view, fill or copy: not the work of an operator that computes."""
MOVES = frozenset(f"aten::{name}" for name in ("copy_", "clone", "_to_copy", "contiguous", "_copy_from"))
"""The work itself of an operator that computes nothing."""
LIBRARY_KERNEL = re.compile(
    r"\bat::native|\bat_cuda_detail|cublas|cudnn|cutlass|xmma|nvjet|flash_fwd|splitKreduce|gemv2|gemmk1|\bampere_|\bsm\d\d_|\bhopper_|^triton_(poi|per|red)_"
)
"""Names under which torch, its compiler and NVIDIA's libraries launch kernels."""
HARMLESS_KERNEL = re.compile(
    r"FillFunctor|direct_copy|CopyFunctor|bfloat16_copy|float8_copy|Memcpy|Memset|spin_kernel|elementwise_kernel.*copy", re.I
)
OPERATOR = re.compile(r"\w+::\w+")


def snapshot() -> dict[tuple[str, str], Any]:
    """Every function and class of the watched modules and classes by (owner, name), and the code of the functions in Python; the constants
    of this package's own; and the hooks that run between the lines of others."""
    found = {
        (name, key): value for name in WATCHED if name in sys.modules for key, value in vars(sys.modules[name]).items() if callable(value)
    }
    for name in OWN:
        found |= {(name, key): value for key, value in vars(sys.modules.get(name)).items() if key.isupper()} if name in sys.modules else {}
    found |= {("sys", "getprofile"): sys.getprofile(), ("sys", "gettrace"): sys.gettrace()}
    for path in WATCHED_CLASSES:
        module, _, name = path.rpartition(".")
        owner = getattr(sys.modules.get(module), name, None)
        if owner is not None:
            found |= {(path, key): inspect.getattr_static(owner, key) for key in dir(owner) if key not in VOLATILE}
    found = {key: value for key, value in found.items() if key not in UNWATCHED}
    codes = {(owner, f"{name}.__code__"): value.__code__ for (owner, name), value in found.items() if isinstance(value, FunctionType)}
    return found | codes


def replaced(before: dict[tuple[str, str], Any]) -> list[str]:
    """Names in `before` that stand for something else now, sorted."""
    now = snapshot()
    return sorted(f"{owner}.{name}" for (owner, name), value in before.items() if now.get((owner, name)) is not value)


def new_threads(before: Sequence[threading.Thread]) -> list[str]:
    """Python threads that were not there before."""
    return [thread.name for thread in threading.enumerate() if thread not in before]


def own_work(names: set[str], moves: bool = False) -> list[str]:
    """Those of some torch operators that ALLOWED_OPS lacks, sorted; with `moves` copies are not allowed."""
    return sorted(names - (ALLOWED_OPS - MOVES if moves else ALLOWED_OPS))


def operators(call: Callable[[], Any], moves: bool = False) -> list[str]:
    """Torch operators that a call dispatches, without those of ALLOWED_OPS, sorted; with `moves` copies are not allowed."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: set[str] = set()

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.add(function._schema.name)
            return function(*args, **(kwargs or {}))

    with Log():
        call()
    return own_work(seen, moves)


def host_operators(call: Callable[[], Any]) -> tuple[Any, set[str]]:
    """What a call returns, and the operators that it runs on the CPU, on whatever thread and past whatever mode: those within no other
    one, composite ones aside."""
    from torch._C._profiler import _ExperimentalConfig
    from torch.autograd.profiler import profile  # torch.profiler's imports torch's compiler first, which takes seconds

    with profile(experimental_config=_ExperimentalConfig(profile_all_threads=True)) as found:
        answer = call()
    return answer, {event.name for event in found.function_events if _does_work(event) and not any(map(_does_work, _above(event)))}


def _above(event: Any) -> list[Any]:
    found = []
    while (event := event.cpu_parent) is not None:
        found.append(event)
    return found


def _does_work(event: Any) -> bool:
    """An operator with code of its own, not one that is written in terms of others."""
    import torch

    if not OPERATOR.fullmatch(event.name):
        return False
    names = [f"{event.name}.{schema.overload_name}".rstrip(".") for schema in torch._C._jit_get_schemas_for_operator(event.name)]
    composite = torch._C._dispatch_has_kernel_for_dispatch_key
    with contextlib.suppress(RuntimeError):  # a schema of TorchScript alone
        return not any(composite(name, "CompositeImplicitAutograd") for name in names)
    return True


def work_of_children(call: Callable[[], Any]) -> list[str]:
    """Whether processes that a call started did something by the time it returned: ended ones have faulted pages in, others are there."""
    from . import sandbox

    ended, alive = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt, sandbox.descendants(os.getpid())
    call()
    more = set(sandbox.descendants(os.getpid())) - set(alive)
    return ["another process that it started"] if more or resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt > ended else []


def foreign_kernels(call: Callable[[], Any]) -> list[str]:
    """Names of kernels of torch or of NVIDIA's libraries that a call launches, however it gets at them."""
    import torch
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as found:
        call()
        torch.cuda.synchronize()
    launched = {event.name for event in found.events() if event.device_type == DeviceType.CUDA}
    return foreign_names(launched)


def foreign_names(kernels: Any) -> list[str]:
    """Those of some kernel names that belong to a library, sorted."""
    return sorted(name for name in kernels if LIBRARY_KERNEL.search(name) and not HARMLESS_KERNEL.search(name))
