"""What the zoo's commands say, as a person reads it in a terminal."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from indexer.gpus import Gpu
from retriever.terminal import STATUS_STYLES, out
from retriever.zoo_wrong import disagreements

VERDICT_STYLES = {"accepted": "green", "rejected": "red", "error": "magenta", "not-run": "yellow"}
SPEED_STYLES = {"faster": "green", "slower": "red", "level": ""}
NUMBERS = ("best rate", "of ceiling", "time us", "speed-up", "ahead", "cases")


def _table(*columns: str, wraps: str = "") -> Table:
    """Borderless; numbers to the right, only the column `wraps` may break."""
    view = Table(header_style="bold", box=None, padding=(0, 1))
    for column in columns:
        view.add_column(column, no_wrap=column != wraps, justify="right" if column in NUMBERS else "left", overflow="fold")
    return view


def print_zoo(rows: list[dict[str, Any]], gpu: Gpu | None) -> None:
    """The zoo, one row an implementation."""
    view = _table("implementation", "language", "best rate", "of ceiling", *(["here"] if gpu else []), "proved on", wraps="proved on")
    for row in rows:
        status = row["applicability"]["status"]
        here = [Text(status, style=STATUS_STYLES[status])] if gpu else []
        proof = row["evidence"].replace("validated on NVIDIA ", "").split(",")[0]
        view.add_row(row["id"].removeprefix("zoo/"), "+".join(row["languages"]), row["rate"] or "-", row["share"] or "-", *here, proof)
    out.print(view)


def print_answers(answers: list[dict[str, Any]]) -> None:
    """A block for each candidate that was not accepted, then a table of those that were."""
    for answer in answers:
        if answer["verdict"] != "accepted":
            _print_refusal(answer)
    accepted = [answer for answer in answers if answer["verdict"] == "accepted"]
    if not accepted:
        return
    view = _table("accepted", "case", "time us", "of ceiling", "speed-up", "over", "GPU", wraps="GPU")
    for answer in accepted:
        for row in _timing_rows(answer) or [(f"{len(answer['cases'])} checked", "-", "-", "-", "-")]:
            view.add_row(answer["id"].removeprefix("zoo/"), *row, answer["gpu"] or "-")
    out.print(view)
    for answer in accepted:
        if answer["record"]:
            out.print(Text(f"record: {answer['record']}", style="dim"))


def _print_refusal(answer: dict[str, Any]) -> None:
    head = Text(answer["id"], style="bold") + Text(f"  {answer['verdict']}", style=VERDICT_STYLES[answer["verdict"]])
    where = "/".join(part for part in (answer["stage"], answer["category"]) if part)
    out.print(head + Text(f"  {where}" if where else ""))
    bad = answer["first_bad"]
    lines = {
        "where": answer["location"],
        "case": answer["case"],
        "expected": answer["expected"],
        "actual": answer["actual"],
        "first bad": f"[{', '.join(map(str, bad))}]" if bad is not None else None,
        "GPU": answer["gpu"],
        "hint": answer["hint"],
        "again": _replay_command(answer),
        "record": answer["record"],
    }
    for name, value in lines.items():
        if value:
            out.print(Text(f"  {name:<10}", style="dim") + Text(str(value)), soft_wrap=True)
    out.print()


def _replay_command(answer: dict[str, Any]) -> str | None:
    """What runs the saved failing case alone; a candidate from elsewhere needs its operator."""
    outside = not answer["id"].startswith(("zoo/", "attempt/"))
    operator = f" --operator {answer['operator']}" if outside else ""
    return f"warplore zoo validate {answer['id']}{operator} --replay {answer['replay']}" if answer["replay"] else None


def _timing_rows(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    from kernel_wiki.harness.champions import best_baseline

    rows = []
    for timing in answer["timings"]:
        name, speed = best_baseline(timing)
        share = f"{100 * timing['share_of_ceiling']:.1f} %" if timing.get("share_of_ceiling") else "-"
        faster = Text(f"{speed['speedup']:.3f}x", style=SPEED_STYLES.get(speed.get("verdict", ""), "")) if name else "-"
        verdict = f" ({speed['verdict']})" if speed.get("verdict") else ""
        rows.append((timing["case"], f"{timing['time_us']:.1f}", share, faster, f"{name}{verdict}" if name else "-"))
    return rows


def print_champions(form: dict[str, Any]) -> None:
    """One row a timed case; then what was left out."""
    view = _table("operator", "case", "champion", "time us", "ahead", "next", "speed-up", "over", "GPU", wraps="GPU")
    for lead in form["champions"]:
        operator = lead["operator"]
        ahead = "alone" if lead["margin"] is None else "level" if lead["level"] else f"{100 * lead['margin']:.1f} %"
        verdict = f" ({lead['verdict']})" if lead["verdict"] else ""
        view.add_row(
            operator,
            lead["case"],
            lead["champion"].removeprefix(f"zoo/{operator}/"),
            f"{lead['time_us']:.1f}",
            ahead,
            (lead["runner_up"] or "-").removeprefix(f"zoo/{operator}/"),
            f"{lead['speedup']:.3f}x" if lead["speedup"] else "-",
            f"{lead['best_baseline']}{verdict}" if lead["best_baseline"] else "-",
            lead["gpu"],
        )
    out.print(view if form["champions"] else "no accepted, fresh record with times")
    for one in form["left_out"]:
        on = f" on {one['gpu']}" if one["gpu"] else ""
        out.print(Text(f"left out: {one['id']}{on}: {one['reason']}", style="dim"), soft_wrap=True)


def print_wrong(rows: list[dict[str, Any]]) -> None:
    """Every wrong variant with what must be said to it and what was; those that disagree in red."""
    view = _table("wrong variant", "must be", "was", "what it does", wraps="what it does")
    for row in rows:
        found = ", ".join(
            f"{one['stage']}/{one['category']}{'' if one['fresh'] else ' (stale)'}" if one["verdict"] == "rejected" else "accepted"
            for one in row["found"]
        )
        style = "red" if list(disagreements(row)) else ""
        expected = "/".join(row["expected"]) if row["expected"] else "not stated"
        view.add_row(Text(row["id"].removeprefix("zoo/"), style=style), expected, found or "not run", row["does"])
    out.print(view)
