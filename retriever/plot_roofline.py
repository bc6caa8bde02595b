"""The roofline panel: the launch under the roofs of its GPU."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from retriever.plot_style import BLUE, GREEN, GREY, INK, SMALL, TITLE, tidy
from retriever.quantities import quantity
from retriever.roofline import Ceiling, Point, Roofline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVELS = {"DRAM": (BLUE, "o"), "L2": (GREEN, "s")}
DECADES_BELOW = 1.2  # room under the lowest point
LEFT_OF_POINTS, RIGHT_OF_RIDGE = 5.0, 60.0  # factors of intensity that the axis shows beyond the data, for its labels
CLOSE = 3.0  # roofs within this factor have the lower one's label beneath it


def draw_roofline(axes: Axes, roofline: Roofline) -> None:
    """Diagonals are bandwidths, horizontals are arithmetic; a marker below its diagonal leaves that distance to gain."""
    top = roofline.compute[-1].value
    slowest = min(roof.value for roof in roofline.memory)
    left = min([point.intensity for point in roofline.points] + [top / roof.value for roof in roofline.memory]) / LEFT_OF_POINTS
    right = max([point.intensity for point in roofline.points] + [top / slowest]) * RIGHT_OF_RIDGE
    low = min(roofline.flops, slowest * left) / 10**DECADES_BELOW
    axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(low, top * 4))
    tidy(axes, grid="both")
    for place, roof in enumerate(roofline.compute):
        above = roofline.compute[place + 1].value if place + 1 < len(roofline.compute) else math.inf
        _horizontal(axes, roof, (left, right), above)
    for roof in roofline.memory:
        _diagonal(axes, roof, left, top)
    for point in roofline.points:
        _mark(axes, point, roofline)
    axes.legend(loc="lower right", frameon=False, fontsize=SMALL, labelcolor=INK)
    axes.set_xlabel("FLOP per byte moved at that level (no integers, no special functions)", fontsize=SMALL + 1)
    axes.yaxis.set_major_formatter(lambda value, _: quantity(value, "flop/s"))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    share = roofline.flops / next((r.value for r in roofline.compute if r.name.startswith(roofline.type)), roofline.compute[0].value)
    title = f"{roofline.type} roofline: {quantity(roofline.flops, 'flop/s')}, {100 * share:.2g} % of peak"
    axes.set_title(title, fontsize=TITLE, loc="left", color=INK)


def _horizontal(axes: Axes, roof: Ceiling, across: tuple[float, float], above: float) -> None:
    highest, close = above == math.inf, above < CLOSE * roof.value
    axes.plot(across, [roof.value] * 2, color=INK if highest else GREY, linewidth=2 if highest else 1.3)
    sheet = ", data sheet" if roof.source == "data sheet" else ""
    words = f"{roof.name}  {quantity(roof.value, 'flop/s')}{sheet}"
    place = {"xytext": (-2, -4 if close else 4), "va": "top" if close else "bottom"}
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85}
    axes.annotate(words, (across[1], roof.value), textcoords="offset points", ha="right", fontsize=SMALL, color=INK, bbox=paper, **place)


def _diagonal(axes: Axes, roof: Ceiling, left: float, top: float) -> None:
    sheet = ", data sheet" if roof.source == "data sheet" else ""
    words = f"{roof.name} bandwidth {quantity(roof.value, 'byte/s')}{sheet}"
    axes.plot([left, top / roof.value], [roof.value * left, top], color=_LEVELS[roof.name][0], linewidth=2, label=words)


def _mark(axes: Axes, point: Point, roofline: Roofline) -> None:
    color, marker = _LEVELS[point.level]
    bandwidth = next((roof.value for roof in roofline.memory if roof.name == point.level), None)
    reach = min(point.intensity * bandwidth, roofline.compute[-1].value) if bandwidth else point.flops
    axes.plot([point.intensity] * 2, [point.flops, max(reach, point.flops)], color=color, linewidth=1.2, linestyle=":")
    axes.plot(
        point.intensity,
        point.flops,
        linestyle="",
        marker=marker,
        markersize=13,
        color=color,
        markeredgecolor="white",
        markeredgewidth=1.5,
        zorder=5,
        label=f"this launch, {point.level}: {point.intensity:.3g} FLOP/B",
    )
