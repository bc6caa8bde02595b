"""The memory panel: what moved between the SMs, L1, shared memory, L2 and DRAM, and how often a cache answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retriever.metric_expressions import Lookup
from retriever.plot_style import BLUE, INK, LABEL, ORANGE, SMALL, TITLE
from retriever.quantities import quantity
from retriever.reports.names import ACTIVE, ELAPSED
from retriever.roofline import SECTOR_BYTES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GLOBAL = "l1tex__t_sectors_pipe_lsu_mem_global_op_"
_LOCAL = "l1tex__t_sectors_pipe_lsu_mem_local_op_"
BOX_WIDTH, BOX_HEIGHT = 1.5, 1.25
COLUMNS = (0.0, 3.55, 7.1, 10.65)  # left edges of SMs, L1/TEX, L2, DRAM
ROW, SHARED_ROW = 1.55, 0.0  # lower edges
LINE_POINTS = 16  # between the lines in a box
GAP, HEAD = 0.07, 0.15  # between a box and an arrow; how much an arrow's head is wider than its shaft
THINNEST, THICKEST = 0.025, 0.17  # of a box's height, about; an arrow is as thick as its share of the most bytes on any


@dataclass(frozen=True, slots=True)
class Flow:
    """Bytes (or wavefronts) between two neighbours."""

    name: str
    column: int
    """Index of the box on the left."""
    shared: bool
    down: float | None
    """Towards the SM: loads."""
    up: float | None
    """Away from it: stores."""
    unit: str


@dataclass(frozen=True, slots=True)
class MemoryFlows:
    """What the panel shows."""

    flows: tuple[Flow, ...]
    """Those that are not zero."""
    boxes: tuple[tuple[str, tuple[str, ...]], ...]
    """Names with lines below: hit rate, share of the peak."""


def memory_flows(lookup: Lookup) -> tuple[MemoryFlows | None, str]:
    """The traffic of a launch, or None with what the report lacks."""
    wavefronts = [lookup(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum") for op in ("ld", "st")]
    flows = (
        Flow("global", 0, False, _bytes(lookup, f"{_GLOBAL}ld.sum"), _bytes(lookup, f"{_GLOBAL}st.sum"), "byte"),
        Flow("local", 0, False, _bytes(lookup, f"{_LOCAL}ld.sum"), _bytes(lookup, f"{_LOCAL}st.sum"), "byte"),
        Flow("", 0, True, wavefronts[0], wavefronts[1], "wavefront"),
        Flow(
            "",
            1,
            False,
            _first(lookup("l1tex__m_xbar2l1tex_read_bytes.sum"), _bytes(lookup, "lts__t_sectors_srcunit_tex_op_read.sum")),
            _first(lookup("l1tex__m_l1tex2xbar_write_bytes.sum"), _bytes(lookup, "lts__t_sectors_srcunit_tex_op_write.sum")),
            "byte",
        ),
        Flow("", 2, False, lookup("dram__bytes_read.sum"), lookup("dram__bytes_write.sum"), "byte"),
    )
    known = tuple(flow for flow in flows if flow.down or flow.up)
    if not any(flow.unit == "byte" for flow in known):
        return (
            None,
            "memory chart: the report has no sectors or bytes (collect --section MemoryWorkloadAnalysis_Tables, and print the raw page)",
        )
    return MemoryFlows(known, _boxes(lookup)), ""


def _bytes(lookup: Lookup, sectors: str) -> float | None:
    value = lookup(sectors)
    return value * SECTOR_BYTES if value is not None else None


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _boxes(lookup: Lookup) -> tuple[tuple[str, tuple[str, ...]], ...]:
    def line(words: str, name: str) -> tuple[str, ...]:
        value = lookup(name)
        return (f"{words} {value:.{0 if value >= 10 else 1}f} %",) if value is not None else ()

    return (
        ("SMs", line("busy", f"sm__throughput{ELAPSED}")),
        ("L1/TEX", line("hit", "l1tex__t_sector_hit_rate.pct") + line("busy", f"l1tex__throughput{ACTIVE}")),
        ("L2", line("hit", "lts__t_sector_hit_rate.pct") + line("busy", f"lts__throughput{ELAPSED}")),
        ("DRAM", line("busy", f"gpu__dram_throughput{ELAPSED}")),
    )


def most_bytes(memory: MemoryFlows) -> float:
    """The bytes of the thickest arrow."""
    return max(_total(flows, loads) for flows in _gaps(memory) for loads in (True, False))


def draw_memory(axes: Axes, memory: MemoryFlows, most: float) -> None:
    """Boxes left to right, an arrow for each direction, as thick as its share of `most` bytes; shared memory in a row of its own."""
    shared = [flow for flow in memory.flows if flow.shared]
    low = SHARED_ROW if shared else ROW
    for column, (name, lines) in enumerate(memory.boxes):
        bottom = low if column == 0 else ROW  # the SMs reach over both rows
        _box(axes, COLUMNS[column], bottom, ROW + BOX_HEIGHT - bottom, name, lines)
    if shared:
        _box(axes, COLUMNS[1], SHARED_ROW, BOX_HEIGHT, "shared", ("memory,", "wavefronts"))
        _arrows(axes, shared, SHARED_ROW, 0.0)
    for flows in _gaps(memory):
        _arrows(axes, flows, ROW, most)
    axes.set_xlim(-0.1, COLUMNS[-1] + BOX_WIDTH + 0.1)
    axes.set_ylim(low - 0.1, ROW + BOX_HEIGHT + 0.15)
    axes.axis("off")
    axes.set_title("Memory traffic (blue: loads, orange: stores)", fontsize=TITLE, loc="left", color=INK)


def _gaps(memory: MemoryFlows) -> list[list[Flow]]:
    """The byte flows of each pair of neighbours."""
    plain = [flow for flow in memory.flows if not flow.shared]
    return [flows for column in range(len(COLUMNS) - 1) if (flows := [flow for flow in plain if flow.column == column])]


def _total(flows: list[Flow], loads: bool) -> float:
    return sum((flow.down if loads else flow.up) or 0.0 for flow in flows)


def _box(axes: Axes, left: float, low: float, height: float, name: str, lines: tuple[str, ...]) -> None:
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0,rounding_size=0.08"
    axes.add_patch(FancyBboxPatch((left, low), BOX_WIDTH, height, boxstyle=style, facecolor="#F2F2F2", edgecolor=INK, linewidth=1.2))
    middle = left + BOX_WIDTH / 2
    for place, line in enumerate((name, *lines)):
        size, weight = (SMALL, "normal") if place else (LABEL, "bold")
        offset = (0, LINE_POINTS * (len(lines) / 2 - place))
        centre = {"ha": "center", "va": "center", "textcoords": "offset points", "xytext": offset}
        axes.annotate(line, (middle, low + height / 2), fontsize=size, fontweight=weight, color=INK, **centre)


def _arrows(axes: Axes, flows: list[Flow], low: float, most: float) -> None:
    """Loads in the upper half with their words above, stores in the lower half with their words beneath."""
    from matplotlib.patches import FancyArrow

    left, right = COLUMNS[flows[0].column] + BOX_WIDTH + GAP, COLUMNS[flows[0].column + 1] - GAP
    for loads, color, share_of_height in ((True, BLUE, 0.61), (False, ORANGE, 0.39)):
        total = _total(flows, loads)
        if not total:
            continue
        y = low + BOX_HEIGHT * share_of_height
        width = THINNEST + (THICKEST - THINNEST) * (total / most if most else 0.0)
        start, length = (right, left - right) if loads else (left, right - left)
        head = {"head_width": width + HEAD, "head_length": 1.4 * HEAD, "length_includes_head": True}
        axes.add_patch(FancyArrow(start, y, length, 0, width=width, color=color, linewidth=0, **head))
        words = "\n".join(_words(flow, loads) for flow in flows if (flow.down if loads else flow.up))
        beside = width / 2 + 0.05
        place = {"y": y + beside, "va": "bottom"} if loads else {"y": y - beside, "va": "top"}
        axes.text((left + right) / 2, s=words, ha="center", fontsize=SMALL, color=INK, linespacing=1.1, **place)


def _words(flow: Flow, loads: bool) -> str:
    amount = quantity((flow.down if loads else flow.up) or 0.0, flow.unit)
    return f"{flow.name} {amount}".removesuffix(flow.unit if flow.shared else "").strip()
