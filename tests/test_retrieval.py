"""Ranking: the GPU decides what may run, every score explains itself, and the order is total."""

from __future__ import annotations

import pytest

from indexer.vocabulary import load_vocabulary
from retriever.applicability import applicability, target_for
from retriever.fuse import scaled_sum
from retriever.gpu_names import gpu_in_text
from retriever.inputs import find_gpu
from retriever.rank import mix_kinds
from retriever.service import Warplore
from tests.corpora import REPOSITORY, write_corpus


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Warplore:
    folder = tmp_path_factory.mktemp("warplore")
    return Warplore(write_corpus(folder / "corpus"), cache=folder / "cache", encoder="hash")


def ids(core: Warplore, text: str, gpu: str | None = None) -> list[str]:
    return [hit.id for hit in core.rank(core.situation(text, gpu=gpu)).hits]


def test_an_a100_is_never_given_wgmma_as_something_to_run(core: Warplore) -> None:
    ranking = core.rank(core.situation("faster gemm with wgmma.mma_async and wgmma", gpu="A100"))
    assert not {"isa/wgmma/wgmma.mma_async", "hardware/wgmma"} & {hit.id for hit in ranking.hits}
    excluded = {hit.id: hit.applicability for hit in ranking.excluded}
    assert excluded["isa/wgmma/wgmma.mma_async"].status == "never"
    assert "sm_90a only" in excluded["isa/wgmma/wgmma.mma_async"].reason


def test_what_an_a100_cannot_run_is_shown_when_asked_for(core: Warplore) -> None:
    hits = core.rank(core.situation("wgmma", gpu="A100"), include_never=True).hits
    found = next(hit for hit in hits if hit.id == "hardware/wgmma")
    assert found.applicability.status == "never" and found.parts["applicability"] < 0


def test_a_named_fallback_makes_a_record_adaptable_and_says_how(core: Warplore) -> None:
    hit = next(hit for hit in core.rank(core.situation("bulk copy engine", gpu="A100")).hits if hit.id == "technique/tma-bulk-copy")
    assert hit.applicability.status == "adapt"
    assert hit.applicability.reason == "NVIDIA A100-SXM4-80GB lacks tma: Copy with cp.async in 16-byte pieces."
    older = core.rank(core.situation("bulk copy engine", gpu="T4")).hits
    assert "technique/tma-bulk-copy" not in [hit.id for hit in older]


def test_the_same_record_runs_on_hopper(core: Warplore) -> None:
    for gpu in ("H200", "H100 PCIe", "sm_90a"):
        assert "hardware/wgmma" in ids(core, "warpgroup multiply", gpu)


def test_chinese_questions_meet_english_pages(core: Warplore) -> None:
    assert ids(core, "共享内存 bank 冲突怎么办")[0] == "guide/shared-bank-conflict"
    assert "zoo/transpose/padded" in ids(core, "矩阵转置")[:3]


def test_an_unrelated_question_is_answered_with_nothing_fits(core: Warplore) -> None:
    assert core.rank(core.situation("best pancake recipe with maple syrup")).nothing_fits
    assert not core.rank(core.situation("swizzle")).nothing_fits


def test_a_reverted_change_says_so(core: Warplore) -> None:
    hit = next(hit for hit in core.rank(core.situation("transpose padding", gpu="A100")).hits if hit.kind == "pr")
    assert "was reverted later: read why before repeating it" in hit.why
    assert hit.parts["reverted"] < 0


def test_every_score_is_the_sum_of_its_parts_and_the_order_is_total(core: Warplore) -> None:
    hits = core.rank(core.situation("transpose with bank conflicts in shared memory", gpu="H100")).hits
    for hit in hits:
        parts = {name: value for name, value in hit.parts.items() if not name.endswith("_rank")}
        assert hit.score == pytest.approx(sum(parts.values()), abs=2e-4)
        assert hit.why
    assert [(-hit.score, hit.id) for hit in hits] == sorted((-hit.score, hit.id) for hit in hits)


def test_the_same_question_gives_the_same_answer(core: Warplore) -> None:
    first = core.rank(core.situation("bank conflict", gpu="4090"))
    second = Warplore(core.root, cache=core.cache, encoder="hash")
    assert first.hits == second.rank(second.situation("bank conflict", gpu="4090")).hits


def test_fusion_puts_what_all_rankings_agree_on_first() -> None:
    fused = scaled_sum({"a": {"x": 8.0, "y": 6.0, "z": 4.0}, "b": {"x": 0.5, "z": 0.4}}, {"a": 1.0, "b": 1.0})
    assert fused["x"] == pytest.approx(1.0) and fused["z"] > fused["y"]
    assert scaled_sum({}, {}) == {}


def test_mixing_kinds_keeps_order_and_fills_up(core: Warplore) -> None:
    hits = core.rank(core.situation("transpose bank conflict", gpu="H100")).hits
    mixed = mix_kinds(hits, 5)
    assert len(mixed) == 5
    assert max(sum(hit.kind == kind for hit in mixed) for kind in {hit.kind for hit in mixed}) <= 3
    assert [hit.score for hit in mixed] == sorted((hit.score for hit in mixed), reverse=True)


def test_a_cubin_for_an_a_target_runs_on_that_capability_only(core: Warplore) -> None:
    h200, b200, a100 = (find_gpu(name, core.gpus) for name in ("H200", "B200", "A100"))
    assert target_for({}, ["sm_90a"], h200) == "sm_90a"
    assert target_for({}, ["sm_90a"], b200) is None
    assert target_for({}, ["sm_80", "sm_90a"], b200) == "sm_80"
    assert target_for({"sm_80": {"ok": False}}, ["sm_80"], a100) is None


def test_shared_memory_beyond_the_product_s_limit_must_be_adapted(core: Warplore) -> None:
    record = {
        "kind": "zoo",
        "id": "zoo/gemm/big",
        "targets": ["sm_80"],
        "evidence": {"compiled": {"sm_80": {"ok": True, "smem_bytes": 160_000}}},
    }
    assert applicability(record, find_gpu("A100", core.gpus)).status == "runs"
    verdict = applicability(record, find_gpu("RTX 4090", core.gpus))
    assert verdict.status == "adapt" and "160,000 bytes of shared memory" in verdict.reason


def test_a_gpu_is_found_in_a_sentence(core: Warplore) -> None:
    def name(text: str) -> str | None:
        gpu = gpu_in_text(text, core.gpus)
        return gpu.id if gpu else None

    assert name("softmax is slow on my RTX 4090 today") == "rtx-4090"
    assert name("H200 or H100?") == "h200-sxm" or name("H200 or H100?") == "h200"
    assert name("compile for sm_120 please") == "sm_120"
    assert name("a loop of 4090 iterations over t4x") in (None, "rtx-4090")
    assert name("my kernel is slow") is None


def test_words_are_read_with_the_longest_name_first() -> None:
    vocabulary = load_vocabulary(REPOSITORY)
    found = [(term.kind, term.id) for term in vocabulary.find("Shared-memory bank conflicts in the fused_moe kernel; 寄存器溢出")]
    assert found == [("bottlenecks", "shared-bank-conflict"), ("families", "moe"), ("bottlenecks", "register-spill")]
    assert vocabulary.find("the halfway house was doubled") == []


def test_every_alias_of_the_vocabulary_resolves_to_its_term() -> None:
    vocabulary = load_vocabulary(REPOSITORY)
    for kind, terms in vocabulary.terms.items():
        for term in terms.values():
            for name in term.names:
                assert (kind, term.id) in [(found.kind, found.id) for found in vocabulary.find(f"about {name} here")], name
