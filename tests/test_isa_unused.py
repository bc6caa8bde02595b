"""What a kernel leaves unused, each with its reason; an empty answer says why."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from indexer.corpus import load_corpus
from indexer.gpus import load_gpus
from indexer.records import IsaRecord, ZooRecord
from retriever.inputs import find_gpu
from retriever.isa_unused import UnusedAnswer, unused
from retriever.kernels.facts import KernelFacts
from retriever.kernels.read import read_kernel

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(__file__).parent / "data" / "kernels"


@cache
def corpus():
    return load_corpus(ROOT)


def answer(facts: KernelFacts, gpu: str) -> UnusedAnswer:
    records = corpus().records.values()
    entries = [record for record in records if isinstance(record, IsaRecord)]
    zoo = [record for record in records if isinstance(record, ZooRecord)]
    return unused(facts, find_gpu(gpu, load_gpus(ROOT)), entries, zoo, ROOT, corpus().vocabulary, None)


def kernel(name: str) -> KernelFacts:
    return read_kernel((DATA / name).read_text(encoding="utf-8"), name)


def test_a_scalar_gemm_is_told_of_its_gpus_own_products_and_of_kernels_that_use_them():
    hopper = {row.id: row for row in answer(kernel("gemm_naive.cu"), "H200").rows}
    assert "zoo/gemm/cuda_wgmma_tma" in hopper["isa/wgmma/wgmma.mma_async"].zoo
    assert any("which the kernel lacks" in reason for reason in hopper["isa/wgmma/wgmma.mma_async"].why)
    ampere = {row.id for row in answer(kernel("gemm_naive.cu"), "A100").rows}
    assert "isa/matrix/mma.sync" in ampere and "isa/wgmma/wgmma.mma_async" not in ampere


def test_what_a_kernel_uses_is_not_named_but_its_newer_neighbour_is():
    facts = kernel("gemm_tensor_core.cu")
    rows = {row.id: row for row in answer(facts, "H200").rows}
    assert "isa/async-copy/cp.async" not in rows and "isa/matrix/ldmatrix" not in rows
    assert any("newer neighbour" in reason for row in rows.values() for reason in row.why)


def test_one_unit_takes_one_row():
    rows = answer(kernel("gemm_naive.cu"), "H200").rows
    assert len({row.id.split("/")[1] for row in rows if row.id.startswith("isa/wgmma/")}) <= 1
    assert any(row.companions for row in rows)


def test_the_answer_is_ordered_and_the_same_each_time():
    first, again = answer(kernel("gemm_naive.cu"), "B200"), answer(kernel("gemm_naive.cu"), "B200")
    assert first == again
    assert [row.score for row in first.rows] == sorted((row.score for row in first.rows), reverse=True)


def test_an_empty_answer_explains_itself():
    found = answer(kernel("softmax_warp_row.cu"), "H200")
    assert found.rows == ()
    assert "nothing to name" in found.notes[-1] and "softmax" in found.notes[-1]


def test_a_text_of_no_family_says_so():
    found = answer(read_kernel("__global__ void k(int* p) { p[0] = 1; }", "k.cu"), "H200")
    assert any("family could not be told" in note for note in found.notes)
