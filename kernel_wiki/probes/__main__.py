"""`python -m kernel_wiki.probes run|compile|list [FAMILY | PAGE | NAME | all]`: execute instructions against their models and measure them.

Exit status: 0 all as expected, 1 a difference, a crash or a folded chain, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import families
from .probe import AnyProbe, Timing

ROOT = Path(__file__).resolve().parents[2]
HOPPER = "sm_90a"
"""The probes use what that target has; none other is tried."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; progress on stderr, results on stdout."""
    args = _parser().parse_args(arguments)
    try:
        chosen = families.select(args.what)
    except LookupError as error:
        print(error, file=sys.stderr)
        return 2
    return {"run": run, "compile": compile_, "list": list_}[args.command](chosen, args)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kernel_wiki.probes", description=__doc__, epilog="example: python -m kernel_wiki.probes run integer"
    )
    parser.add_argument("command", choices=["run", "compile", "list"])
    parser.add_argument(
        "what", nargs="?", default="all", help="a family, a page (isa/math/fma), a probe's name or a glob of names; default all"
    )
    parser.add_argument("--out", type=Path, help="file to write; default isa/executed.json where all ran, else none")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 4, help="compilations side by side")
    return parser


def list_(chosen: dict[str, Sequence[AnyProbe]], args: argparse.Namespace) -> int:
    """Page and name of every probe."""
    for family, probes in chosen.items():
        for each in probes:
            print(f"{family:13} {each.isa:42} {each.name}{'  (timed)' if isinstance(each, Timing) else ''}")
    print(_count(chosen))
    return 0


def compile_(chosen: dict[str, Sequence[AnyProbe]], args: argparse.Namespace) -> int:
    """Build every unit and count the machine code of the timed ones; needs no GPU."""
    from . import build

    started = time.monotonic()
    made = build.compile_all(chosen, HOPPER, args.jobs)
    for unit in made:
        if unit.cubin is None:
            print(f"{unit.family}, unit of {unit.probes[0].name}: {unit.error}")
        for text in unit.folded.values():
            print(f"folded: {text}")
    bad = sum(unit.cubin is None for unit in made) + sum(len(unit.folded) for unit in made)
    print(f"{len(made)} translation units for {HOPPER} in {time.monotonic() - started:.0f} s, {bad} problems; {_count(chosen)}")
    return 1 if bad or not made else 0


def run(chosen: dict[str, Sequence[AnyProbe]], args: argparse.Namespace) -> int:
    """Execute, compare, measure, write the record."""
    from kernel_wiki.harness.device import query_smi

    from . import execute, record

    if not query_smi(("name",)):
        print("no GPU found, so nothing ran; `compile` works without one", file=sys.stderr)
        return 1
    started = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - started:5.0f} s] {text}", file=sys.stderr, flush=True)

    results = execute.run_all(chosen, HOPPER, args.jobs, say)
    found = record.page(chosen, results, _facts())
    out = args.out or (ROOT / record.EXECUTED if args.what == "all" else None)
    if out:
        record.write(found, out)
        say(f"wrote {out}")
    for items in found["probes"].values():
        for item in items:
            figures = [
                f"{item[key]} {unit}"
                for key, unit in (("latency_cycles", "cycles"), ("per_clock_per_sm", "per clock and SM"))
                if key in item
            ]
            figures += [f"{item['cases']} cases" for _ in [0] if "cases" in item] + [
                f"max {item['max_ulp']} ulp" for _ in [0] if "max_ulp" in item
            ]
            print(f"{item['verdict']:9} {item['name']}: {', '.join(figures)}")
    bad = record.failures(found)
    print("\n".join(["", *bad, f"{len(results) - len(bad)} of {len(results)} as expected; {_count(chosen)}"]))
    return 1 if bad or not results else 0


def _facts() -> dict[str, Any]:
    """The machine and the day."""
    from kernel_wiki.harness import device
    from kernel_wiki.harness.nvcc import nvcc_version

    gpu = device.query_smi(("name", "driver_version"))
    return {
        "gpu": gpu[0] if gpu else "unknown",
        "driver": gpu[1] if len(gpu) > 1 else "unknown",
        "toolkit": f"nvcc {nvcc_version()}",
        "target": HOPPER,
        "date": datetime.date.today().isoformat(),
        "clocks": device.clocks(),
    }


def _count(chosen: dict[str, Sequence[AnyProbe]]) -> str:
    every = [each for probes in chosen.values() for each in probes]
    timed = sum(isinstance(each, Timing) for each in every)
    return f"{len(every) - timed} probes of semantics and {timed} timings on {len({each.isa for each in every})} pages"


if __name__ == "__main__":
    sys.exit(main())
