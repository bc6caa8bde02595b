"""The stall panels: where the cycles of a warp go between two instructions, for one launch or two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retriever.metric_expressions import Lookup
from retriever.plot_style import BLUE, GREEN, GREY, INK, LABEL, ORANGE, PINK, RED, SKY, SMALL, TITLE, YELLOW, tidy
from retriever.reports.stall_names import STALLS, WARP_CYCLES, stall_metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 8  # reasons with a bar of their own; the rest together is one more
SMALLEST = 0.005  # share of the cycles from which a reason is drawn by itself
HARMLESS = ("selected", "not_selected")
"""Issuing, and ready while another warp issues: no stall to repair."""
FEWEST_ROWS = 5  # room that few bars leave empty, so that one bar does not fill the panel
OTHER = "other"
PALE = "#D5D5D5"
PALETTE = (BLUE, ORANGE, GREEN, RED, SKY, PINK, YELLOW, "#000000")


def stall_cycles(lookup: Lookup) -> dict[str, float]:
    """Cycles a warp spends per issued instruction, by reason, with OTHER for those that the report gives no reason for.

    Empty where the report has no stalls.
    """
    found = {reason: value for reason in STALLS if (value := lookup(stall_metric(reason))) is not None}
    unexplained = (lookup(WARP_CYCLES) or 0.0) - sum(found.values())
    return found | {OTHER: unexplained} if found and unexplained > SMALLEST * sum(found.values()) else found


def draw_stalls(axes: Axes, cycles: dict[str, float]) -> None:
    """One launch: a bar a reason, the longest on top."""
    total = sum(cycles.values())
    ordered = sorted(cycles.keys() - {OTHER}, key=lambda reason: (-cycles[reason], reason))
    large = [reason for reason in ordered[:SHOWN] if cycles[reason] >= SMALLEST * total]
    shown = [(STALLS[reason], cycles[reason], GREY if reason in HARMLESS else BLUE) for reason in large]
    if (rest := total - sum(value for _, value, _ in shown)) > 0.001 * total:
        shown.append(("all others", rest, PALE))
    places = range(len(shown))
    axes.barh(places, [value for _, value, _ in shown], color=[color for *_, color in shown], height=0.72)
    axes.set_yticks(places, [name for name, *_ in shown], fontsize=LABEL)
    axes.set_ylim(max(len(shown), FEWEST_ROWS) - 0.5, -0.5)
    tidy(axes, grid="x")
    axes.tick_params(axis="y", length=0, labelsize=LABEL)
    longest = max((value for _, value, _ in shown), default=1.0)
    axes.set_xlim(0, longest * 1.3)
    for place, (_, value, _) in zip(places, shown):
        axes.text(value + longest * 0.015, place, f"{value:.3g}  ({100 * value / total:.0f} %)", va="center", fontsize=SMALL, color=INK)
    axes.set_xlabel("warp cycles per issued instruction (grey: issuing, or ready to)", fontsize=LABEL)
    axes.set_title(f"Stalls: {total:.3g} warp cycles per instruction", fontsize=TITLE, loc="left", color=INK)


def draw_two_stacks(axes: Axes, sides: tuple[dict[str, float], dict[str, float]], names: tuple[str, str]) -> None:
    """Two launches: a column each, the same colour for the same reason, with a legend in the order of the stack."""
    weight = {reason: max(side.get(reason, 0.0) / (sum(side.values()) or 1.0) for side in sides) for reason in STALLS}
    ordered = sorted((r for r in STALLS if r not in HARMLESS and weight[r] >= 2 * SMALLEST), key=lambda reason: (-weight[reason], reason))
    colors = dict(zip(ordered[: len(PALETTE)], PALETTE)) | {"not_selected": "#B0B0B0", "selected": "#7F7F7F"}
    own = [*ordered[: len(PALETTE)], *reversed(HARMLESS)]
    bottoms = [0.0, 0.0]
    top = max(sum(side.values()) for side in sides)
    for reason in [*reversed(HARMLESS), *reversed(own[: -len(HARMLESS)])]:
        values = [side.get(reason, 0.0) for side in sides]
        axes.bar([0, 1], values, bottom=bottoms, width=0.55, color=colors[reason], edgecolor="white", linewidth=0.5, label=STALLS[reason])
        for place, value in enumerate(values):
            if value > 0.045 * top:
                dark = colors[reason] in (BLUE, GREEN, RED, "#000000", "#7F7F7F")
                axes.text(
                    place,
                    bottoms[place] + value / 2,
                    f"{value:.3g}",
                    ha="center",
                    va="center",
                    fontsize=SMALL,
                    color="white" if dark else INK,
                )
        bottoms = [bottom + value for bottom, value in zip(bottoms, values)]
    rest = [sum(side.values()) - bottom for side, bottom in zip(sides, bottoms)]
    if max(rest) > 0.005 * top:
        axes.bar([0, 1], rest, bottom=bottoms, width=0.55, color=PALE, edgecolor="white", label="all others")
    for place, side in enumerate(sides):
        axes.text(place, sum(side.values()) + top * 0.015, f"{sum(side.values()):.3g} cycles", ha="center", fontsize=LABEL, color=INK)
    axes.set_xticks([0, 1], [f"before\n{names[0]}", f"after\n{names[1]}"], fontsize=LABEL)
    axes.set_xlim(-0.5, 1.5)
    axes.set_ylim(0, top * 1.1)
    tidy(axes, grid="y")
    axes.tick_params(axis="x", labelsize=LABEL, length=0)
    axes.set_ylabel("warp cycles per issued instruction", fontsize=LABEL)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], loc="upper center", bbox_to_anchor=(0.45, -0.12), ncols=2, frameon=False, fontsize=SMALL)
    axes.set_title("Stalls, before and after", fontsize=TITLE, loc="left", color=INK)
