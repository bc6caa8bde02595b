"""The labelled reports on a terminal: how often the diagnosis is right, by export form, and where it is not."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from retriever.terminal import out


def print_report_evaluation(found: dict[str, Any]) -> None:
    """Figures by form, what is confused with what, and the kernels behind it. `found`: as `report_evaluation_json` makes it."""
    view = Table(header_style="bold", box=None, padding=(0, 1))
    for column in ("kernels", "form", "of", "right", "says what is open", "other answers"):
        view.add_column(column, justify="left" if column in ("kernels", "form") else "right", no_wrap=True)
    for row in found["forms"]:
        kind = "written blind" if row["blind"] else "others"
        view.add_row(kind, row["form"], *(str(row[name]) for name in ("kernels", "right", "undecided")), str(len(row["other_answers"])))
    out.print(view)
    confused = [row for row in found["confusion"] if row["planted"] != row["named"]]
    total = sum(row["kernels"] for row in found["confusion"])
    out.print(f"raw page: {total - sum(row['kernels'] for row in confused)} of {total} named first as planted")
    for row in confused:
        out.print(f"  {row['planted']} named {row['named']}: {row['kernels']}")
    for row in (row for row in found["wrong"] if row["form"] == found["forms"][0]["form"]):
        out.print(f"  {row['kernel']}: planted {row['planted']}, named {', '.join(row['named'])}", style="dim")
    others = [f"{row['form']}: {', '.join(row['other_answers'])}" for row in found["forms"] if row["other_answers"]]
    out.print(*(f"another first answer in {text}" for text in others), sep="\n", style="dim")
