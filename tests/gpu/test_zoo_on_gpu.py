"""Every implementation of the zoo is right on this GPU, and every wrong variant is caught."""

from __future__ import annotations

from typing import Any

import pytest

from kernel_wiki.harness import discover, judge
from kernel_wiki.harness.discover import Entry

IMPLEMENTATIONS = [entry for name in discover.operators() for entry in discover.implementations(name)]
WRONG = [entry for name in discover.operators() for entry in discover.wrong_variants(name)]
CHECK_ONLY = judge.Options(device="cuda", rounds=0, sanitizer=False, ncu=False, jobs=6)

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not judge.has_gpu(), reason="nvidia-smi shows no GPU")]


def _selected(request: pytest.FixtureRequest, entries: list[Entry]) -> list[Entry]:
    """Those whose test was collected, so that `-k` runs no more than it names."""
    parameters = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    wanted = {each["entry"].id for each in parameters if "entry" in each}
    return [entry for entry in entries if entry.id in wanted]


@pytest.fixture(scope="module")
def records(request: pytest.FixtureRequest) -> dict[str, dict[str, Any]]:
    """Entry id to record, judged several at a time: starting Python and torch is most of the work."""
    found = judge.validate_many(_selected(request, IMPLEMENTATIONS), CHECK_ONLY)
    return {f"{each['operator']}/{each['impl']}": each for each in found}


@pytest.fixture(scope="module")
def variants(request: pytest.FixtureRequest) -> dict[str, dict[str, Any]]:
    """Entry id to what was found against it."""
    pages = judge.judge_wrong(_selected(request, WRONG), judge.Options(device="cuda", jobs=6))
    return {f"{operator}/{name}": item for operator, page in pages.items() for name, item in page["variants"].items()}


def test_the_zoo_is_not_empty() -> None:
    assert IMPLEMENTATIONS
    assert WRONG


@pytest.mark.parametrize("entry", IMPLEMENTATIONS, ids=lambda entry: entry.id)
def test_an_implementation_agrees_with_its_float64_reference(entry: Entry, records: dict[str, dict[str, Any]]) -> None:
    record = records[entry.id]
    assert record["verdict"] == "accepted", record["hint"]
    assert record["cases"]


@pytest.mark.parametrize("entry", WRONG, ids=lambda entry: entry.id)
def test_a_wrong_variant_is_rejected_for_what_it_is(entry: Entry, variants: dict[str, dict[str, Any]]) -> None:
    found = variants[entry.id]
    assert found["verdict"] == "rejected"
    assert [found["stage"], found["category"]] == found["expected_as"], found["hint"]
