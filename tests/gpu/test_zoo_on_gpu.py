"""Every implementation of the zoo is right on this GPU, and every wrong variant is caught."""

from __future__ import annotations

import pytest

from kernel_wiki.harness import discover, judge
from kernel_wiki.harness.discover import Entry

IMPLEMENTATIONS = [entry for name in discover.operators() for entry in discover.implementations(name)]
WRONG = [entry for name in discover.operators() for entry in discover.wrong_variants(name)]
CHECK_ONLY = judge.Options(device="cuda", rounds=0, sanitizer=False, ncu=False)

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not judge.has_gpu(), reason="nvidia-smi shows no GPU")]


def test_the_zoo_is_not_empty() -> None:
    assert IMPLEMENTATIONS
    assert WRONG


@pytest.mark.parametrize("entry", IMPLEMENTATIONS, ids=lambda entry: entry.id)
def test_an_implementation_agrees_with_its_float64_reference(entry: Entry) -> None:
    record = judge.validate(entry.operator, entry.name, CHECK_ONLY)
    assert record["verdict"] == "accepted", record["hint"]
    assert record["cases"]


@pytest.mark.parametrize("entry", WRONG, ids=lambda entry: entry.id)
def test_a_wrong_variant_is_rejected_for_what_it_is(entry: Entry) -> None:
    page = judge.judge_wrong([entry], judge.Options(device="cuda"))[entry.operator]
    found = page["variants"][entry.name]
    assert found["verdict"] == "rejected"
    # Rejected for its answer or its behaviour, not because it no longer loads or compiles.
    assert found["stage"] in ("run", "correctness", "measure"), found["hint"]
    assert found["category"] not in ("symbol", "syntax"), found["hint"]
