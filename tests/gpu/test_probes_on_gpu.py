"""Every instruction does on this GPU what its plain model says, and every chain that is timed is there."""

from __future__ import annotations

from typing import Any

import pytest

from kernel_wiki.harness.device import query_smi
from kernel_wiki.probes import execute, families, record
from kernel_wiki.probes.__main__ import HOPPER

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(query_smi(("compute_cap",)) != ["9.0"], reason="nvidia-smi shows no GPU of compute capability 9.0"),
]
JOBS = 16


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, Any]]:
    return execute.run_all(families.load(), HOPPER, JOBS, print)


@pytest.mark.parametrize("family", families.FAMILIES)
def test_a_family_does_what_its_models_say(family: str, results: dict[str, dict[str, Any]]) -> None:
    probes = families.load()[family]
    wrong = {each.name: results[each.name] for each in probes if results[each.name]["verdict"] not in record.GOOD}
    assert probes and not wrong
