"""The `isa` commands as a person or an agent calls them: JSON of stable shape, errors in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from indexer.errors import InputError
from retriever.cli_isa import isa_app

DATA = Path(__file__).parent / "data" / "kernels"


@pytest.fixture
def isa(monkeypatch, tmp_path):
    monkeypatch.setenv("WARPLORE_DATA", str(tmp_path / "private"))

    def call(*arguments: str) -> dict:
        result = CliRunner().invoke(isa_app, [*arguments, "--json"], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return call


def test_a_spelled_out_instruction_comes_with_its_modifiers(isa):
    answer = isa("cp.async.cg.shared.global.L2::128B", "--gpu", "RTX 2080 Ti")
    (found,) = answer["instructions"]
    assert (answer["schema"], found["id"]) == (1, "isa/async-copy/cp.async")
    assert [part["text"] for part in found["modifiers"]] == ["async", "cg", "shared", "global", "L2::128B"]
    assert all(part["known"] and part["meaning"] for part in found["modifiers"])
    assert found["applicability"]["status"] == "never"
    assert "isa/memory/ld" in found["use_instead"]


def test_a_glob_lists_a_family(isa):
    names = [(found["mnemonic"], *found["also"]) for found in isa("tcgen05.*")["instructions"]]
    assert len(names) > 5 and all(any(name.startswith("tcgen05.") for name in each) for each in names)


def test_unused_capabilities_of_a_kernel_are_data(isa):
    answer = isa("unused", "--kernel", str(DATA / "gemm_naive.cu"), "--gpu", "B200", "-k", "3")
    assert (answer["family"], len(answer["unused"])) == ("gemm", 3)
    assert {"id", "title", "score", "why", "zoo", "companions"} == set(answer["unused"][0])


def test_an_own_copy_is_quoted_beside_the_page_until_it_is_deleted(isa, tmp_path):
    manual = tmp_path / "manual.html"
    manual.write_text('<section id="instr-ldmatrix"><h4>Matrix load: ldmatrix</h4><p>Loads.</p></section>', encoding="utf-8")
    assert isa("import", str(manual))["sections"] == 1
    assert isa("ldmatrix")["own_copy"] == [{"anchor": "instr-ldmatrix", "title": "Matrix load: ldmatrix", "text": "Loads."}]
    next((tmp_path / "private").iterdir()).unlink()
    assert isa("ldmatrix")["own_copy"] == []


def test_a_wrong_target_is_one_clear_error():
    with pytest.raises(InputError, match='no target "sm_91"; did you mean'):
        CliRunner().invoke(isa_app, ["diff", "sm_90a", "sm_91"], catch_exceptions=False)
