"""What every picture shares: colours that colour-blind readers tell apart, sizes for a slide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, RED, SKY, PINK, YELLOW, GREY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#56B4E9",
    "#CC79A7",
    "#F0E442",
    "#7F7F7F",
)
"""The palette of Okabe and Ito, 2008, with a grey for what is not at fault."""
INK, LINE, GRID = "#222222", "#BBBBBB", "#E6E6E6"

SLIDE_INCHES = (13.33, 7.5)  # 16:9, as presentation programs make a page
DPI = 150
TITLE, LABEL, SMALL = 15, 12, 10.5  # points; SMALL is still read from the back of a room at this size of slide


def tidy(axes: Axes, grid: Literal["x", "y", "both"]) -> None:
    """No box around the data, and a light grid behind it, across the axes named."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(LINE)
    axes.tick_params(colors=INK, labelsize=SMALL)
    axes.set_axisbelow(True)
    axes.grid(True, axis=grid, color=GRID, linewidth=0.8)
