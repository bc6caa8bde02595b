"""The context pack: within its budget, the same bytes, honest about what it left out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from indexer.errors import InputError
from retriever.json_forms import context_json
from retriever.pack import build_pack, count_tokens
from retriever.render import deepen, page_sections
from retriever.service import Warplore
from tests.corpora import write_corpus


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Warplore:
    folder = tmp_path_factory.mktemp("warplore")
    return Warplore(write_corpus(folder / "corpus"), cache=folder / "cache", encoder="hash")


def test_the_whole_code_of_an_implementation_is_in_the_pack(core: Warplore) -> None:
    pack = core.context(core.situation("transpose is slow", gpu="A100"), 8000)
    source = (core.root / "kernel_wiki/zoo/transpose/padded.cu").read_text(encoding="utf-8")
    assert source.rstrip() in pack.text
    assert [section.kind for section in pack.sections][:3] == ["situation", "gpu", "implementation"]


def test_code_comes_before_the_summaries_of_weaker_entries(core: Warplore) -> None:
    situation = core.situation("transpose with shared memory bank conflicts", gpu="A100")
    whole = core.context(situation, 20_000)
    alone = next(section.tokens for section in whole.sections if section.kind == "implementation")
    heads = sum(section.tokens for section in whole.sections if section.kind in ("situation", "gpu", "next"))
    tight = core.context(situation, alone + heads + 400)
    assert "__global__" in tight.text
    assert len(tight.sections) < len(whole.sections)


@pytest.mark.parametrize("budget", [700, 900, 1100, 1500, 2000, 3000, 5000, 20000])
def test_a_pack_never_exceeds_its_budget_and_names_what_it_left_out(core: Warplore, budget: int) -> None:
    pack = core.context(core.situation("transpose with shared memory bank conflicts", gpu="A100"), budget)
    assert count_tokens(pack.text) == pack.tokens <= budget
    shown = {section.id for section in pack.sections}
    for item in pack.left_out:
        assert item["command"] == f"warplore show {item['id']}"
        assert f"`{item['id']}`" in pack.text
        assert item["id"] in core.index.records
    if budget == 700:
        assert any(item["reason"] == "budget: not shown" and item["id"] not in shown for item in pack.left_out)


def test_more_budget_never_shows_less(core: Warplore) -> None:
    situation = core.situation("transpose with shared memory bank conflicts", gpu="A100")
    sizes = [core.context(situation, budget).tokens for budget in (700, 1000, 1500, 2500, 6000)]
    assert sizes == sorted(sizes)


def test_a_budget_that_holds_nothing_is_refused_with_the_least_that_works(core: Warplore) -> None:
    with pytest.raises(InputError, match=r"--budget 50 is too small: the situation alone takes \d+ tokens; give at least \d+") as caught:
        core.context(core.situation("transpose", gpu="A100"), 50)
    least = int(re.findall(r"at least (\d+)", str(caught.value))[0])
    assert core.context(core.situation("transpose", gpu="A100"), least).tokens <= least


def test_the_same_input_gives_the_same_bytes(core: Warplore) -> None:
    again = Warplore(core.root, cache=core.cache, encoder="hash")
    first, second = (each.context(each.situation("bank conflict", gpu="H200"), 3000) for each in (core, again))
    assert first.text == second.text


def test_code_that_does_not_run_here_is_named_but_not_shown(core: Warplore) -> None:
    page = core.root / "kernel_wiki/zoo/transpose/padded.md"
    before = page.read_text(encoding="utf-8")
    try:
        page.write_text(before.replace("[sm_80]", "[sm_90a]"), encoding="utf-8")
        fresh = Warplore(core.root, cache=core.cache, encoder="hash")
        text = fresh.context(fresh.situation("transpose", gpu="A100"), 8000).text
    finally:
        page.write_text(before, encoding="utf-8")
    assert "zoo/transpose/padded" in text and "**adapt**: built for sm_90a" in text
    assert "__global__" not in text


@pytest.mark.parametrize("gpu", ["A100", "RTX 4090", "T4", "RTX 5090", "H20", "GB10"])
def test_no_pack_of_the_real_corpus_shows_code_or_instructions_that_its_gpu_lacks(real_core: Warplore, gpu: str) -> None:
    situation = real_core.situation("fastest bf16 gemm and attention with tma, wgmma and tcgen05, warp specialised and persistent", gpu=gpu)
    pack = real_core.context(situation, 30_000)
    features = situation.gpu.features
    for section in pack.sections:
        if section.kind in ("implementation", "technique", "instruction", "precedent", "hardware"):
            record = real_core.index.records[section.id]
            if set(record.get("requires", ())) - features:
                assert "**adapt**" in section.text and "```" not in section.text, section.id
    code = "".join(block for section in pack.sections if section.kind == "implementation" for block in section.text.split("```")[1::2])
    for feature, token in (("wgmma", "wgmma.mma_async"), ("tma", "cp.async.bulk"), ("tma", "TensorDescriptor"), ("tcgen05", "tcgen05")):
        assert feature in features or token not in code


def test_nothing_fits_shows_near_misses_only_as_such(core: Warplore) -> None:
    pack = core.context(core.situation("best pancake recipe with maple syrup"), 3000)
    assert "## Nothing here fits" in pack.text and "Nearest misses" in pack.text
    assert not [section for section in pack.sections if section.kind in ("implementation", "guide", "technique")]


def test_a_gpu_alone_is_enough(core: Warplore) -> None:
    text = core.context(core.situation(gpu="RTX 5090"), 3000).text
    assert "sm_120" in text and "tcgen05" not in text.split("## Left out")[0]


def test_the_json_form_holds_the_same_text(core: Warplore) -> None:
    situation = core.situation("transpose", gpu="A100")
    pack = core.context(situation, 3000)
    form = json.loads(json.dumps(context_json(situation, pack)))
    assert set(form) == {"schema", "situation", "diagnosis", "sections", "left_out", "tokens"}
    assert "\n\n".join(section["text"] for section in form["sections"]) + "\n" == pack.text
    assert form["tokens"] == pack.tokens and form["situation"]["gpu"]["id"] == "a100-sxm-80gb"


def test_an_empty_question_is_refused(core: Warplore) -> None:
    with pytest.raises(InputError, match="give a question, --kernel, --gpu or --ncu"):
        core.situation("  ")


def test_headings_move_down_but_not_in_code() -> None:
    assert deepen("## A\n```\n# comment\n```", 2) == "#### A\n```\n# comment\n```"


def test_the_focus_of_a_page_is_chosen_by_how_its_headings_begin() -> None:
    body = "intro\n\n#### Causes in CUDA C++\n\na\n\n#### Other\n\nb\n\n#### How to verify the cure\n\nc\n"
    assert page_sections(body, ("Causes", "How to verify")) == "#### Causes in CUDA C++\n\na\n\n#### How to verify the cure\n\nc"


def test_a_token_is_three_bytes_rounded_up() -> None:
    assert [count_tokens(text) for text in ("", "a", "abc", "abcd", "共享")] == [0, 1, 1, 2, 2]


def test_building_a_pack_reads_no_more_than_it_is_given(core: Warplore, tmp_path: Path) -> None:
    situation = core.situation("transpose", gpu="A100")
    ranking = core.rank(situation)
    assert build_pack(situation, ranking, core.root, 4000).text == core.context(situation, 4000).text
