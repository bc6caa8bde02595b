"""`python -m kernel_wiki.harness validate|wrong|compile [OPERATOR | OPERATOR/NAME | all]`: judge the zoo and write its records.

Exit status: 0 all accepted (for `wrong`: all rejected), 1 a problem or nothing ran, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import Any

from . import discover, judge, record
from .device import query_smi
from .judge import Options


def main(arguments: list[str] | None = None) -> int:
    """Run one command; prints progress on stderr and a table on stdout."""
    args = _parser().parse_args(arguments)
    started = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - started:5.0f} s] {text}", file=sys.stderr, flush=True)

    def known(entry: discover.Entry) -> dict[str, Any] | None:
        root = _root(args.out or discover.ZOO, Path(discover.ATTEMPTS_FOLDER) if entry.is_attempt else Path())
        slug = discover.gpu_slug(next(iter(query_smi(("name",))), "cpu"))
        path = discover.record_path(entry.operator, entry.name, slug, root)
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    options = Options(
        device=args.device,
        rounds=args.rounds,
        sanitizer=not args.skip_sanitizer,
        ncu=not args.skip_ncu,
        timeout_s=args.timeout_s,
        budget_s=args.budget_s,
        jobs=args.jobs,
        cases=args.cases,
        zoo=args.zoo.resolve(),
        repeats=args.repeats,
        huge=not args.skip_huge,
        known=known if args.resume else lambda entry: None,
        say=say,
    )
    try:
        entries = discover.select(args.what, options.zoo, wrong=args.command == "wrong")
    except LookupError as error:
        print(error, file=sys.stderr)
        return 2
    if args.outside:
        entries = [dataclasses.replace(entry, contract=entry.contract_path) for entry in entries]
    if args.command != "compile" and args.device == "auto" and not judge.has_gpu():
        print("no GPU found, so nothing ran; `compile` works without one, and `--device cpu` checks small cases", file=sys.stderr)
        return 1
    return COMMANDS[args.command](entries, options, args.out or options.zoo)


def validate(entries: list[discover.Entry], options: Options, out: Path) -> int:
    """Judge implementations, write their records, print a line each."""
    if options.device == "cpu":
        for entry in [entry for entry in entries if entry.has_cuda]:
            options.say(f"{entry.id} is left out: CUDA C++ needs a GPU")
        entries = [entry for entry in entries if not entry.has_cuda]

    def keep(records: list[dict[str, Any]]) -> None:
        for each in records:
            slug = discover.gpu_slug(each["gpu"]["name"])
            if _worth_keeping(each, options, slug, out):
                folder = Path(discover.ATTEMPTS_FOLDER) if by_key[each["operator"], each["impl"]].is_attempt else Path()
                record.write(each, discover.record_path(each["operator"], each["impl"], slug, _root(out, folder)))

    by_key = {(entry.operator, entry.name): entry for entry in entries}
    records = judge.validate_many(entries, dataclasses.replace(options, keep=keep))
    keep(records)
    rows = [row for each in records for row in _rows(each)]
    head = ["implementation", "case", "verdict", "time us", "GB/s", "TFLOP/s", "ceiling", "best baseline", "sanitizer", "ncu DRAM"]
    _print_table(head, rows)
    return _summary(records, "accepted")


def _root(out: Path, folder: Path) -> Path:
    """Attempts stand beside the zoo; anywhere else in a folder of that name."""
    return out.parent / folder if out == discover.ZOO and folder.name else out / folder


def _worth_keeping(found: dict[str, Any], options: Options, slug: str, out: Path) -> bool:
    """A run that is partial, untimed or on the CPU says too little to replace a record of the zoo."""
    partial = bool(options.cases) or options.rounds < 1 or slug == "cpu" or found["verdict"] == "error"
    untimed = (found["hint"] or "").startswith(record.UNTIMED)
    return out != options.zoo or not (partial or untimed)


def wrong(entries: list[discover.Entry], options: Options, out: Path) -> int:
    """Judge wrong variants; every one must be rejected."""

    def keep(pages: dict[str, dict[str, Any]]) -> None:
        for operator, page in pages.items():
            slug = discover.gpu_slug(page["gpu"]["name"])
            path = discover.record_path(operator, "wrong", slug, out)
            page = _joined(page, path, {entry.name for entry in discover.wrong_variants(operator, options.zoo)})
            if slug != "cpu" or out != options.zoo:
                record.write(page, path)

    found = judge.judge_wrong(entries, dataclasses.replace(options, keep_pages=keep))
    keep(found)
    results = [{"id": f"{operator}/{name}", **item} for operator, page in found.items() for name, item in page["variants"].items()]
    for item in results:
        item["as"] = f"{item['stage']}/{item['category']}" if item["verdict"] == "rejected" else "accepted"
        item["right"] = item["verdict"] == "rejected" and [item["stage"], item["category"]] == item["expected_as"]
    rows = [
        [item["id"], item["as"], "" if item["right"] else f"expected {'/'.join(item['expected_as'] or ['?'])}", (item["hint"] or "")[:110]]
        for item in results
    ]
    _print_table(["wrong variant", "rejected as", "", "hint"], rows)
    right = sum(item["right"] for item in results)
    print(f"{right} of {len(results)} rejected for the right reason")
    return 0 if results and right == len(results) else 1


def _joined(page: dict[str, Any], path: Path, names: set[str]) -> dict[str, Any]:
    """The page with the variants of an earlier one at `path` that were not judged now and still exist."""
    if set(page["variants"]) == names or not path.exists():
        return page
    earlier = json.loads(path.read_text(encoding="utf-8"))
    variants = {name: found for name, found in earlier["variants"].items() if name in names}
    return {**page, "hashes": {**earlier["hashes"], **page["hashes"]}, "variants": {**variants, **page["variants"]}}


def compile_(entries: list[discover.Entry], options: Options, out: Path) -> int:
    """Build implementations for their targets and write the compile records."""
    records = judge.compile_many(entries, options)
    rows = []
    for each in records:
        record.write(each, discover.record_path(each["operator"], each["impl"], discover.COMPILE_FOLDER, out))
        name = f"{each['operator']}/{each['impl']}"
        if not each["targets"]:
            rows.append([name, "", each["verdict"], "", (each.get("hint") or "")[:120]])
        for target, item in each["targets"].items():
            needs = [
                f"{kernel}: {value['registers']} registers, {value['smem_bytes']} B shared, {value['spill_bytes']} B spilled"
                for kernel, value in item["kernels"].items()
            ]
            rows.append([name, target, "ok" if item["ok"] else "failed", "; ".join(needs), item.get("error", "").replace("\n", " ")[:120]])
    _print_table(["implementation", "target", "verdict", "kernels", "error"], rows)
    return _summary(records, "accepted")


COMMANDS = {"validate": validate, "wrong": wrong, "compile": compile_}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kernel_wiki.harness",
        description="Run zoo entries in isolated processes, check, time and profile them, and write their records.",
        epilog="example: python -m kernel_wiki.harness validate softmax/triton_rowwise --rounds 50",
    )
    parser.add_argument("command", choices=sorted(COMMANDS))
    parser.add_argument("what", nargs="?", default="all", help="OPERATOR, OPERATOR/NAME, several between commas, or all (default)")
    parser.add_argument("--out", type=Path, help="folder for OPERATOR/validation/... instead of the zoo")
    parser.add_argument("--zoo", type=Path, default=discover.ZOO, help=argparse.SUPPRESS)
    parser.add_argument("--outside", action="store_true", help="they are candidates from outside the zoo: the champion is theirs to beat")
    parser.add_argument("--device", choices=["auto", "cuda", "cpu"], default="auto", help="cpu checks small cases in Triton's interpreter")
    parser.add_argument("--rounds", type=int, default=30, help="interleaved rounds of timing; 0 checks only")
    parser.add_argument("--cases", default="", help="only cases whose name contains this")
    parser.add_argument("--repeats", type=int, default=1, help="check every case so often, each time on fresh data and shapes")
    parser.add_argument("--resume", action="store_true", help="keep what a record of these very sources holds, and do the rest")
    parser.add_argument("--skip-huge", action="store_true", help="leave out the cases past 2**31 bytes")
    parser.add_argument("--skip-sanitizer", action="store_true")
    parser.add_argument("--skip-ncu", action="store_true")
    parser.add_argument("--timeout-s", type=float, default=240, help="for one worker")
    parser.add_argument("--budget-s", type=float, help="begin no further step after this")
    parser.add_argument("--jobs", type=int, default=4, help="workers at a time while nothing is timed")
    return parser


def _rows(each: dict[str, Any]) -> list[list[str]]:
    """A row for each timed case, or one that says what happened."""
    name = f"{each['operator']}/{each['impl']}"
    if each["verdict"] != "accepted":
        return [[name, each["case"] or "", f"{each['verdict']}: {each['stage']}/{each['category']}", (each["hint"] or "")[:160]]]
    sanitizer = " ".join(f"{tool}:{item['verdict']}" for tool, item in each["sanitizer"].items())
    dram = each["ncu"].get("metrics", {}).get("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed")
    if not each["timings"]:
        return [[name, f"{len(each['cases'])} checked", "accepted", "", "", "", "", "", sanitizer]]
    return [
        [
            name,
            timing["case"],
            "accepted",
            f"{timing['time_us']:.1f} ±{timing['spread']:.1%}",
            f"{timing['gbps']:.0f}",
            f"{timing['tflops']:.1f}",
            f"{timing['share_of_ceiling']:.1%}",
            _best_baseline(timing["baselines"]),
            sanitizer,
            f"{dram:.0f} %" if dram is not None and timing["case"] == each["ncu"]["case"] else "",
        ]
        for timing in each["timings"]
    ]


def _best_baseline(baselines: dict[str, dict[str, Any]]) -> str:
    timed = [(item["time_us"], name, item["speedup"]) for name, item in baselines.items() if "time_us" in item]
    return f"{min(timed)[2]:.2f}x of {min(timed)[1]}" if timed else "none ran"


def _print_table(head: list[str], rows: list[list[str]]) -> None:
    padded = [[str(cell) for cell in row] + [""] * (len(head) - len(row)) for row in rows]
    # A last filled cell may be a long message: it does not widen its column.
    widths = [max(len(head[index]), *(min(len(row[index]), 40) for row in padded), 0) for index in range(len(head))]
    for row in [head, *padded]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def _summary(results: list[dict[str, Any]], wanted: str) -> int:
    good = sum(item["verdict"] == wanted for item in results)
    print(f"{good} of {len(results)} {wanted}")
    return 0 if results and good == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
