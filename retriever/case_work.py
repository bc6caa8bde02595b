"""The bytes and operations of a zoo case, from the validation records: contracts import torch, the records are text.

A record holds the rates and the median time of each timed case, and both rates are the contract's work over that time, so their product
gives it back to the rounding of the record (four digits).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from indexer.errors import InputError, did_you_mean
from retriever.estimates import PIPES


@dataclass(frozen=True, slots=True)
class CaseWork:
    """The least work of one case."""

    bytes_moved: float
    flops: float
    dtype: str | None
    """Type in the case's name that a peak goes by; None where it has none."""
    note: str
    """Where the figures come from."""


def case_work(root: Path, name: str) -> CaseWork:
    """The work of `operator/case`, for example `softmax/M65536-N1024-bf16`.

    Raises:
        InputError: no validation record times that case; the nearest names are listed.
    """
    known: dict[str, tuple[float, dict]] = {}
    for path in sorted((root / "kernel_wiki" / "zoo").glob("*/validation/*/*.json")):
        operator = path.parts[-4]
        for timing in json.loads(path.read_text(encoding="utf-8")).get("timings") or []:
            case = f"{operator}/{timing['case']}"
            if case not in known or timing["time_us"] > known[case][0]:  # the longest time has the most digits
                known[case] = (timing["time_us"], timing)
    if name not in known:
        same = [case for case in known if case.partition("/")[0] == name.partition("/")[0]]
        options = f"; it has {', '.join(same)}" if same else did_you_mean(name, list(known)) or ""
        raise InputError(f'--case "{name}": no validation record times it{options}')
    time_us, timing = known[name]
    dtype = next((part for part in name.rsplit("/", 1)[1].split("-") if part in PIPES), None)
    moved, work = 1e3 * timing["gbps"] * time_us, 1e6 * timing["tflops"] * time_us
    note = f"{name}: {moved:.4g} bytes and {work:.4g} operations, from the rates and times of its validation records"
    return CaseWork(moved, work, dtype, note)
