"""Inputs without counters as people paste them: parts of tables, rows without a header, transfers, spills, old GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.errors import InputError
from indexer.gpus import load_gpus, resolve_gpu
from retriever.diagnosis import Diagnosed
from retriever.reports.read import read_report
from retriever.service import Warplore
from retriever.typed_facts import Typed, with_typed
from retriever.weak_facts import leading, wanted, weak_lines

ROOT = Path(__file__).parent.parent
SHARE = "trace__share_of_kernel_time_pct"

NSYS_HEAD = " Time (%)  Total Time (ns)  Instances  Avg (ns)  Med (ns)  Min (ns)  Max (ns)  StdDev (ns)  Name"
NSYS_RULE = " --------  ---------------  ---------  --------  --------  --------  --------  -----------  ----"
SMALL = "      0.4          6363520       5121    1242.6    1248.0      1184      1600         22.3  foo(int *)"
TINY = "      0.0           636352        512    1242.6    1248.0      1184      1600         22.3  bar(int *)"
LARGE = "     80.0       1272704000       5121  248526.0  248000.0    240000    250000         22.3  big(int *)"

API = """CUDA API Statistics:

 Time (%)  Total Time (ns)  Num Calls  Avg (ns)  Med (ns)  Min (ns)  Max (ns)  StdDev (ns)  Name
 --------  ---------------  ---------  --------  --------  --------  --------  -----------  ----------------
    100.0    1,575,151,965    411,939   3,823.8   3,545.0     2,915   126,839      2,684.8  cudaLaunchKernel
"""
COPIES = """
 Time (%)  Total Time (ns)  Count    Avg (ns)      Med (ns)     Min (ns)    Max (ns)   StdDev (ns)      Operation
 --------  ---------------  -----  ------------  ------------  ----------  ----------  -----------  ------------------
     51.4       33,461,857      1  33,461,857.0  33,461,857.0  33,461,857  33,461,857          0.0  [CUDA memcpy DtoH]
     48.6       31,698,143      1  31,698,143.0  31,698,143.0  31,698,143  31,698,143          0.0  [CUDA memcpy HtoD]
"""
ALONE = "    100.0          883,936          1  883,936.0  883,936.0   883,936   883,936          0.0  inc(int *, unsigned long)"

TORCH_HEAD = "  Name  Self CPU %  Self CPU  CPU total %  CPU total  CPU time avg  Self CUDA  Self CUDA %  CUDA total  # of Calls"
TORCH_ROW = "  {name}  0.00%  0.000us  0.00%  0.000us  0.000us  287.498ms  {share}  287.498ms  17733"

SPILLS = """ptxas info    : Compiling entry function '_Z4coreiPjjj' for 'sm_80'
ptxas info    : Function properties for _Z4coreiPjjj
    176 bytes stack frame, 428 bytes spill stores, 432 bytes spill loads
ptxas info    : Used 64 registers, 368 bytes cmem[0]
"""


@pytest.fixture(scope="module")
def core() -> Warplore:
    return Warplore(ROOT)


def nsys(*rows: str) -> str:
    return "\n".join((NSYS_HEAD, NSYS_RULE, *rows, ""))


def answer(core: Warplore, text: str, **options: object) -> Diagnosed:
    report = with_typed(read_report(text), Typed(**options), ROOT)  # type: ignore[arg-type]
    return core.diagnose(report, resolve_gpu("A100", load_gpus(ROOT)))[0]


def named(core: Warplore, text: str, **options: object) -> list[str]:
    return [bottleneck.id for bottleneck in answer(core, text, **options)[1].bottlenecks]


def test_a_part_of_an_nsys_table_keeps_the_shares_of_its_own_column() -> None:
    report = read_report(nsys(SMALL, TINY))
    assert [profile.value(SHARE) for profile in report.profiles] == [0.4, 0.0]
    assert "a part of the table: by its own column these rows hold 0.4 % of the time" in report.notes[0]
    assert "look first" not in report.notes[0]


def test_a_part_that_nothing_missing_can_outweigh_says_where_to_look() -> None:
    report = read_report(nsys(LARGE, SMALL))
    assert report.profiles[0].value(SHARE) == 80.0
    assert "look first at big(int *): 80.0 %" in report.notes[0]


def test_a_whole_table_says_nothing_of_a_part() -> None:
    report = read_report(nsys(ALONE))
    assert report.notes[0] == "0.8839 ms of kernel time; look first at inc(int *, unsigned long): 100 % of it, launches: 1"


def test_what_is_left_out_of_a_part_counts_its_own_rows_only() -> None:
    report = leading(read_report(nsys(*(SMALL.replace("foo", f"foo{place}") for place in range(10)))))
    assert report.notes[-1].startswith("left out: 2 with 0.8 % of the kernel time")


def test_a_part_of_a_torch_table_keeps_the_shares_of_its_own_column() -> None:
    report = read_report("\n".join((TORCH_HEAD, TORCH_ROW.format(name="gemm", share="4.01%"), "")))
    assert report.profiles[0].value(SHARE) == 4.01
    assert "these rows hold 4.0 % of the time" in report.notes[0]


def test_copies_are_no_missing_rows_of_a_torch_table() -> None:
    rows = [TORCH_ROW.format(name=name, share="50.00%") for name in ("gemm", "Memcpy HtoD (Pageable -> Device)")]
    report = read_report("\n".join((TORCH_HEAD, *rows, "")))
    assert [profile.value(SHARE) for profile in report.profiles] == [100.0]
    assert "a part" not in report.notes[0]


def test_transfers_of_nsys_are_set_beside_the_kernels() -> None:
    report = read_report(nsys(ALONE) + COPIES)
    assert report.notes[0].startswith("copies and fills take 65.16 ms of the GPU beside 0.8839 ms of kernels ([CUDA memcpy DtoH] 33.46 ms")
    assert report.notes[0].endswith("look at them first")
    assert len(report.profiles) == 1


def test_rows_of_nsys_without_a_header_ask_for_it() -> None:
    for rows in (SMALL + "\n" + TINY + "\n", '0.0,6553888,5121,1279.8,1280.0,1152,1728,46.7,"foo(int *)"\n', f"|{SMALL.strip()}|\n"):
        with pytest.raises(InputError, match=r"rows of nsys stats without their header line; .*cuda_gpu_kern_sum"):
            read_report(rows)


def test_a_table_of_the_hosts_calls_asks_for_the_kernels() -> None:
    with pytest.raises(InputError, match=r":3: nsys stats of the host's calls, which has no kernels; .*cuda_gpu_kern_sum"):
        read_report(API)


def test_rows_of_torch_without_a_header_ask_for_it() -> None:
    with pytest.raises(InputError, match=r"rows of torch.profiler without their header line"):
        read_report(TORCH_ROW.format(name="gemm", share="4.01%") + "\n")


def test_without_a_block_size_spills_hide_the_register_limit(core: Warplore) -> None:
    assert named(core, SPILLS) == ["register-spill"]


@pytest.mark.parametrize("time", [{}, {"time_us": 100, "bytes": 1e8}])
def test_spills_stand_before_the_register_limit(core: Warplore, time: dict[str, float]) -> None:
    assert named(core, SPILLS, block="256", **time)[0] == "register-spill"
    assert ("low-occupancy-registers" in named(core, SPILLS, block="256", **time)) is (not time)


def test_registers_without_a_block_size_show_no_block_limit(core: Warplore) -> None:
    _, diagnosis = answer(core, SPILLS.replace("428 bytes spill stores, 432", "0 bytes spill stores, 0"))
    assert [bottleneck.id for bottleneck in diagnosis.bottlenecks] == ["low-occupancy-registers"]
    assert [piece.metric for piece in diagnosis.bottlenecks[0].evidence] == ["computed__occupancy_by_registers_pct"]


def test_a_compute_capability_that_the_table_lacks_is_shown() -> None:
    profile = read_report(SPILLS.replace("sm_80", "sm_50")).profiles[0]
    assert "compute capability 5.0: not in the GPU table, so its limits and peaks are not known here" in weak_lines(profile, None)
    assert not any("--gpu" in ask for ask in wanted(profile, None))


@pytest.mark.parametrize("name", ["5.0", "sm_35"])
def test_an_old_compute_capability_is_answered_with_where_the_table_begins(name: str) -> None:
    with pytest.raises(InputError, match=r"is too old; the table begins with compute capability \d\.\d$"):
        resolve_gpu(name, load_gpus(ROOT))
