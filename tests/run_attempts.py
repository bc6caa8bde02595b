"""The attempts on a machine without a GPU, in a process of their own since Triton reads TRITON_INTERPRET when it is imported.

    TRITON_INTERPRET=1 python -m tests.run_attempts interpret    those in Triton on small cases and views of their contract
    python -m tests.run_attempts compile                         the first specialisation of each, for Hopper

A line each, `operator/name ...`, ending in `ok` or `wrong`. Run by tests/test_attempts.py.
"""

from __future__ import annotations

import itertools
import sys
from types import ModuleType
from typing import Any

import torch

from kernel_wiki.harness import discover
from kernel_wiki.harness.compile import _build
from kernel_wiki.harness.interpreter import repair
from kernel_wiki.harness.load import load_module

CASES = 2  # the smallest of an operator, with views too; and the smallest of each distribution, without
LARGEST_BYTES = 100_000  # the interpreter takes milliseconds for a program


def chosen(contract: ModuleType) -> list[Any]:
    fit = (case for case in contract.CASES if not case.timed and not case.huge and contract.work(case).bytes_moved <= LARGEST_BYTES)
    cases = sorted(fit, key=lambda case: contract.work(case).bytes_moved + contract.work(case).flops / 100)
    firsts = [next(group) for _, group in itertools.groupby(sorted(cases, key=lambda case: case.distribution), lambda c: c.distribution)]
    return cases[:CASES] + [case for case in firsts if case not in cases[:CASES]]


def viewed(value: Any, kind: str) -> Any:
    """The same values at an odd address, or in rows that lie further apart than they are long, with NaN between them."""
    if kind == "offset":
        view = torch.empty(value.numel() + 1, dtype=value.dtype)[1:].view(value.shape)
    else:
        view = torch.full((*value.shape[:-1], value.shape[-1] + 8), float("nan"), dtype=value.dtype)[..., : value.shape[-1]]
    return view.copy_(value)


def agrees(out: Any, reference: Any, tolerance: Any) -> bool:
    pairs = zip(out, reference) if isinstance(out, tuple) else ((out, reference),)
    return all(
        found.shape == wanted.shape
        and torch.allclose(found.double(), wanted.double(), rtol=tolerance.rtol, atol=tolerance.atol, equal_nan=True)
        for found, wanted in pairs
    )


def interpret() -> None:
    repair()
    for operator in discover.operators():
        contract = load_module(discover.ZOO / operator / "contract.py", operator)
        for entry in discover.attempts(operator):
            if entry.has_cuda:
                continue
            run = load_module(entry.source, operator).run
            views = {"": (), **getattr(contract, "VIEWS", {})}
            cases = chosen(contract)
            plain = ((case, ("", ())) for case in cases[CASES:])
            for case, (view, places) in itertools.chain(itertools.product(cases[:CASES], views.items()), plain):
                inputs = list(contract.make_inputs(case, torch.Generator().manual_seed(7), torch.device("cpu")))
                for place in places:
                    inputs[place] = viewed(inputs[place], view)
                right = agrees(run(*inputs), contract.reference(*inputs), contract.TOLERANCES[case.dtype])
                print(entry.id, case.name, view or "plain", "ok" if right else "wrong", flush=True)


def compile_() -> None:
    for operator in discover.operators():
        for entry in discover.attempts(operator):
            built = _build(load_module(entry.source, operator).compile_specs()[0], "sm_90a", entry.folder)
            good = built["ok"] and not any(needs["spill_bytes"] for needs in built["kernels"].values())
            print(entry.id, built, "ok" if good else "wrong", flush=True)


if __name__ == "__main__":
    {"interpret": interpret, "compile": compile_}[sys.argv[1]]()
