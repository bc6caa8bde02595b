"""What a report cannot say: the causes that it leaves open, in the order of what it shows, and bottlenecks that one of two cannot tell."""

from __future__ import annotations

import pytest

from indexer.records import GuideRecord
from retriever.compare import Fate, compare
from retriever.diagnosis import diagnose
from retriever.json_forms import comparison_json
from retriever.reports.profile import Metric, Profile, Report
from retriever.terminal_compare import print_comparison, severity_change

BUSY = {"busy": 90.0}


def condition(metric: str) -> dict:
    return {"metric": metric, "op": ">", "value": 20, "unit": "%", "source": "test"}


def guide(
    id: str, *all: str, any: tuple[str, ...] = (), none: tuple[str, ...] = (), explains: tuple[str, ...] = ("symptom",)
) -> GuideRecord:
    base = {"title": "t", "summary": "s", "sources": [{"title": "x"}], "reviewed": "2026-11-29", "bottlenecks": [id], "bound": "b"}
    signature = {"all": [*map(condition, all)], "any": [*map(condition, any)], "none": [*map(condition, none)]}
    record = GuideRecord.model_validate(
        base | {"signatures": [signature], "severity": all[0], "sections": ["SourceCounters"], "explains": explains}
    )
    record._id = f"guide/{id}"
    return record


SYMPTOM = guide("symptom", "busy", explains=())


def profile(**metrics: float) -> Profile:
    return Profile("k", grid=(8, 1, 1), block=(256, 1, 1), metrics={name: Metric(value, "%", "1:1") for name, value in metrics.items()})


def causes(*guides: GuideRecord, **metrics: float) -> tuple[str, ...]:
    (symptom,) = diagnose(profile(**BUSY, **metrics), (SYMPTOM, *guides)).bottlenecks
    return symptom.open_causes


def test_a_cause_with_more_conditions_fulfilled_stands_first() -> None:
    guides = guide("aaa", "unread"), guide("bbb", "x", "unread"), guide("ccc", "x", "y", "unread", "unread_too")
    assert causes(*guides, x=50.0, y=50.0) == ("ccc", "bbb", "aaa")


def test_of_equals_the_guide_that_explains_fewer_symptoms_stands_first_and_then_the_id() -> None:
    wide = guide("aaa", "x", "unread", explains=("symptom", "another"))
    assert causes(wide, guide("ccc", "x", "unread"), guide("bbb", "x", "unread"), x=50.0) == ("bbb", "ccc", "aaa")


def test_several_ways_to_fulfil_one_condition_count_once_and_a_rival_that_is_absent_not_at_all() -> None:
    guides = guide("aaa", "unread", none=("z",)), guide("bbb", "unread", any=("x", "y")), guide("ccc", "x", "y", "unread")
    assert causes(*guides, x=50.0, y=50.0, z=0.0) == ("ccc", "bbb", "aaa")


def test_a_signature_that_the_report_rules_out_does_not_speak_for_its_cause() -> None:
    other = guide("bbb", "x", "y", "z", "unread")
    two = guide("aaa", "unread").model_copy(update={"signatures": (*other.signatures, *guide("aaa", "unread").signatures)})
    assert causes(two, guide("ccc", "x", "unread"), x=50.0, y=50.0, z=0.0) == ("ccc", "aaa")


def test_the_order_of_the_guides_does_not_matter() -> None:
    guides = [guide(id, "x", "unread") for id in ("ccc", "aaa", "bbb")]
    assert causes(*guides, x=50.0) == causes(*reversed(guides), x=50.0) == ("aaa", "bbb", "ccc")


def fates(old: dict[str, float], new: dict[str, float]) -> tuple[Fate, ...]:
    guides = (guide("waste", "waste"), SYMPTOM)
    sides = [((p, diagnose(p, guides)),) for p in (profile(**BUSY, **old), profile(**BUSY, **new))]
    (launch,) = compare(sides[0], sides[1], guides).launches
    return launch.fates


def test_a_bottleneck_that_the_first_report_cannot_measure_did_not_come() -> None:
    stayed, waste = fates({}, {"waste": 80.0})
    assert (stayed.id, stayed.outcome) == ("symptom", "stayed")
    assert (waste.id, waste.outcome, waste.before, waste.after) == ("waste", "undecided", None, 80.0)
    assert severity_change(waste) == "at most 80 % of the time (the first report cannot tell whether it was there)"


def test_a_bottleneck_that_the_second_report_cannot_measure_did_not_go() -> None:
    waste = fates({"waste": 80.0}, {})[-1]
    assert (waste.outcome, waste.before, waste.after) == ("undecided", 80.0, None)
    assert severity_change(waste) == "was at most 80 % of the time (the second report cannot tell whether it is still there)"


def test_what_both_reports_measure_came_and_went_as_before() -> None:
    assert [(fate.id, fate.outcome) for fate in fates({"waste": 0.0}, {"waste": 80.0})] == [("symptom", "stayed"), ("waste", "came")]
    assert [(fate.id, fate.outcome) for fate in fates({"waste": 80.0}, {"waste": 0.0})] == [("symptom", "stayed"), ("waste", "went")]


def test_what_is_there_now_stands_before_what_went(capsys: pytest.CaptureFixture[str]) -> None:
    guides = (guide("waste", "waste"), guide("stall", "stall"), guide("spill", "spill"))
    sides = [((p, diagnose(p, guides)),) for p in (profile(waste=90.0, spill=70.0), profile(waste=0.0, stall=30.0))]
    comparison = compare(sides[0], sides[1], guides)
    print_comparison(comparison)
    heads = [line.split()[:2] for line in capsys.readouterr().out.splitlines() if line.startswith(("  undecided ", "  went "))]
    assert heads == [["undecided", "stall"], ["went", "waste"], ["undecided", "spill"]]
    report = Report("r", "csv-raw", ())
    (launch,) = comparison_json(report, report, comparison)["launches"]
    assert [form["outcome"] for form in launch["bottlenecks"]] == ["undecided", "went", "undecided"]
