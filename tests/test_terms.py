"""Search terms, and BM25 over them."""

from __future__ import annotations

from pathlib import Path

import bm25s
import numpy as np
import pytest

from indexer.terms import TermIndex, search_terms
from indexer.vocabulary import load_vocabulary
from tests.corpora import REPOSITORY

DOCUMENTS = [["swizzle", "tile", "bank", "bank"], ["padding", "tile"], ["wgmma", "tile", "tile", "swizzle"], ["copy"]]


def test_compound_names_are_found_whole_and_by_their_parts() -> None:
    terms = search_terms("cp.async.bulk stores 16-byte tiles", load_vocabulary(REPOSITORY))
    assert {"cp.async.bulk", "cp", "async", "bulk", "store", "16", "byte", "tile"} <= set(terms)
    assert "techniques:tma-bulk-copy" in terms


def test_chinese_is_cut_into_pairs_and_meets_the_vocabulary() -> None:
    terms = search_terms("如何减少寄存器溢出", load_vocabulary(REPOSITORY))
    assert "寄存" in terms and "溢出" in terms and "bottlenecks:register-spill" in terms


def test_scores_are_those_of_bm25s() -> None:
    index = TermIndex.build(DOCUMENTS)
    library = bm25s.BM25(method="lucene")
    library.index(DOCUMENTS, show_progress=False)
    for question in (["tile"], ["swizzle", "bank"], ["tile", "tile", "copy"]):
        assert index.scores(question) == pytest.approx(library.get_scores(question), abs=1e-6)
    assert not index.scores(["unknown"]).any()


def test_coverage_weighs_rare_words_more() -> None:
    index = TermIndex.build(DOCUMENTS)
    assert index.coverage(["swizzle", "bank"], 0) == 1.0
    assert index.coverage(["tile", "copy"], 1) < 0.5 < index.coverage(["tile", "copy"], 3)
    assert index.coverage(["tile", "nonsense"], 1) < 0.5


def test_a_saved_index_scores_as_before(tmp_path: Path) -> None:
    index = TermIndex.build(DOCUMENTS)
    index.save(tmp_path)
    assert np.array_equal(TermIndex.load(tmp_path).scores(["swizzle", "tile"]), index.scores(["swizzle", "tile"]))
