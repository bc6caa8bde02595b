"""Two reports compared that say little: no grid in the kernel line, no throughput; and the plan where no kernel is named."""

from __future__ import annotations

import shlex
from dataclasses import replace

from indexer.records import GuideRecord
from retriever.compare import Comparison, Fate, compare
from retriever.diagnosis import NO_USABLE_DATA, Diagnosed, diagnose
from retriever.pairing import Pair, pair_launches
from retriever.plan import plan_for, plan_from_nothing, plan_text
from retriever.reports.profile import Metric, Profile
from retriever.terminal_compare import out, print_comparison, severity_change
from tests.test_compare import GUIDES, compared, low, made, profile

LOADS, STORES = (f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum" for op in ("ld", "st"))
CONFLICTS = "conflicts__share"


def old_form(blocks: float | None = None, threads: float | None = None, kernel: str = "k", **metrics: float) -> Profile:
    sizes = {name: size for name, size in (("launch__grid_size", blocks), ("launch__block_size", threads)) if size is not None}
    return Profile(kernel, metrics={name: Metric(value, "", "1:1") for name, value in (sizes | metrics).items()})


def each(launch: Profile, guides: list[GuideRecord]) -> tuple[Diagnosed, ...]:
    return ((launch, diagnose(launch, guides)),)


def paired(before: list[Profile], after: list[Profile]) -> tuple[Pair, ...]:
    return pair_launches(*(tuple((p, diagnose(p, GUIDES)) for p in side) for side in (before, after))).pairs


def test_launches_without_a_grid_in_their_kernel_line_are_paired_by_their_sizes_and_not_by_order():
    pairs = paired([old_form(32768, 256), old_form(640, 256)], [old_form(640, 256), old_form(32768, 256)])
    assert [pair.after[0].value("launch__grid_size") for pair in pairs] == [32768, 640]
    assert {pair.how for pair in pairs} == {"same name, grid size and block size"}
    (mixed,) = paired([profile(grid=(8, 2, 1))], [old_form(16, 256)])
    assert mixed.how == "same name, grid size and block size"


def test_a_grid_that_nobody_gave_is_not_called_the_same():
    assert [pair.how for pair in paired([old_form()], [old_form()])] == ["same name"]
    assert [pair.how for pair in paired([old_form(8)], [old_form()])] == ["same name"]
    assert [pair.how for pair in paired([old_form(8)], [old_form(8)])] == ["same name and grid size"]
    assert [pair.how for pair in paired([old_form(8)], [old_form(9)])] == ["same name, another grid"]
    assert [pair.how for pair in paired([old_form(kernel="")], [old_form(kernel="")])] == ["neither has a name"]


def test_kernels_of_one_name_and_no_grid_are_paired_by_their_arguments_before_their_order():
    ints, floats = (replace(old_form(), signature=f"k({kind})") for kind in ("int", "float"))
    assert [pair.after[0].signature for pair in paired([ints, floats], [floats, ints])] == ["k(int)", "k(float)"]


def test_sizes_that_differ_are_a_launch_that_differs():
    (launch,) = compared(old_form(640, 256), old_form(320, 512)).launches
    assert "launch differs: grid size 640, then 320; block size 256, then 512" in launch.notes
    (launch,) = compared(old_form(640), old_form(640, 512)).launches
    assert not any("launch differs" in note for note in launch.notes)


def blind_comparison(before: dict[str, float], after: dict[str, float]) -> Comparison:
    """Two reports of a few counters, of which CONFLICTS points to a guide that asks for more."""
    asked = [{"metric": metric, "op": ">=", "value": 10, "unit": "%", "source": "test"} for metric in (CONFLICTS, "l1__busy")]
    guides = [*GUIDES, made("shared-bank-conflict", "l1__busy", signatures=[{"all": asked}])]
    return compare(*(each(old_form(**side), guides) for side in (before, after)), guides)


def test_reports_without_a_throughput_show_what_they_point_to_and_their_own_counters_the_most_changed_first():
    before = {CONFLICTS: 93.0, STORES: 16e6, LOADS: 100.0, "same.sum": 7.0}
    comparison = blind_comparison(before, before | {CONFLICTS: 94.0, STORES: 0.24e6, LOADS: 40.0})
    (launch,) = comparison.launches
    assert [(p.bottleneck, p.outcome, p.before, p.after) for p in launch.pointers] == [("shared-bank-conflict", "stayed", 93.0, 94.0)]
    assert launch.fates == () and [move.metric for move in launch.movements] == [STORES, LOADS]
    with out.capture() as shown:
        print_comparison(comparison)
    text = shown.get()
    assert "stayed    shared-bank-conflict" in text and "0 %" not in text.replace("10 %", "") and "0 -> 0" not in text
    assert launch.next is not None and launch.next.bottleneck == NO_USABLE_DATA and "collect: ncu --section" in launch.next.text


def test_a_pointer_goes_and_comes_by_its_value_and_is_undecided_where_its_counter_lacks():
    for before, after, outcome in ((93.0, 2.0, "went"), (2.0, 93.0, "came"), (93.0, None, "undecided"), (None, 93.0, "undecided")):
        sides = [{"other.sum": 1.0} | ({CONFLICTS: value} if value is not None else {}) for value in (before, after)]
        (launch,) = blind_comparison(*sides).launches
        assert [pointer.outcome for pointer in launch.pointers] == [outcome]


def test_a_severity_that_changed_is_said_in_words():
    assert severity_change(Fate("a", "came", None, 92.0, False)) == "at most 92 % of the time (was not named)"
    assert severity_change(Fate("a", "stayed", 50.0, 30.0, False)) == "at most 30 % of the time (was at most 50 %)"
    assert severity_change(Fate("a", "went", 80.0, None, False)) == "was at most 80 % of the time"
    assert severity_change(Fate("register-spill", "stayed", 0.0, 0.0, False)) == "of unknown cost (was of unknown cost)"


def test_a_metric_that_two_guides_name_is_one_row_with_both_names():
    same = {"metric": "first(unit__busy, other)", "op": ">=", "value": 20, "unit": "%", "source": "test", "label": "full-unit share"}
    guides = [*GUIDES[:3], made("well-optimized", "unit__busy", signatures=[{"all": [same]}])]
    (launch,) = compare(*(each(profile(**low(unit__busy=busy)), guides) for busy in (10.0, 70.0)), guides).launches
    assert [(move.guide, move.also) for move in launch.movements] == [("full-unit", ("well-optimized",))]


def test_a_plan_without_a_kernel_name_is_for_every_launch_in_title_command_and_notes():
    unnamed = old_form(kernel="", unit__busy=1.0)
    for plan in (plan_from_nothing(), plan_for(unnamed, diagnose(unnamed, GUIDES))):
        text = plan_text(plan)
        assert text.startswith("Plan for every launch of the program") and "passes of each launch" in text
        assert not {"--launch-count", "--launch-skip", "--kernel-name"} & set(shlex.split(plan.commands[0]))
        assert "--launch-skip" not in text and "every launch is replayed" in plan.remarks[0]
