"""Chunks partition their files, stay short, and carry their headings."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from indexer.chunks import chunk_record, cuda_blocks, markdown_blocks, python_blocks
from indexer.corpus import load_corpus
from indexer.encoder import HashEncoder
from tests.corpora import PAGES, REPOSITORY, write_corpus

MAX_TOKENS = 120


@pytest.fixture(scope="module")
def corpus():
    return load_corpus(REPOSITORY)


def test_chunks_of_every_file_join_to_the_file(corpus) -> None:
    count = HashEncoder().count_tokens
    for record in corpus.records.values():
        chunks = chunk_record(record, REPOSITORY, MAX_TOKENS, count)
        for path in {chunk.path for chunk in chunks}:
            own = [chunk for chunk in chunks if chunk.path == path]
            lines = (REPOSITORY / path).read_text(encoding="utf-8").splitlines()
            assert own[0].start == 1 and own[-1].end == len(lines), path
            assert all(a.end + 1 == b.start for a, b in pairwise(own)), path
            for chunk in own:
                assert chunk.text.splitlines() == lines[chunk.start - 1 : chunk.end]


def test_a_chunk_is_longer_than_the_limit_only_when_it_is_a_single_line_or_the_front_matter(corpus) -> None:
    count = HashEncoder().count_tokens
    for record in list(corpus.records.values())[::5]:
        for chunk in chunk_record(record, REPOSITORY, MAX_TOKENS, count):
            if chunk.start != chunk.end and chunk.trail != ("front matter",):
                assert count(chunk.searched_text) <= MAX_TOKENS, chunk.location


def test_a_section_knows_the_headings_above_it(tmp_path: Path) -> None:
    corpus = load_corpus(write_corpus(tmp_path))
    chunks = chunk_record(corpus.records["technique/swizzle"], tmp_path, 256, HashEncoder().count_tokens)
    assert [chunk.trail for chunk in chunks] == [("front matter",), ("Idea",), ("When it does not",)]
    assert chunks[1].context == "Shared-memory swizzle > Idea"


def test_headings_inside_code_fences_are_no_headings() -> None:
    blocks = markdown_blocks("# A\n\n```\n# not a heading\n```\n\n## B\n\ntext\n")
    assert [block.trail for block in blocks] == [("A",), ("A",), ("A", "B"), ("A", "B")]


def test_code_is_cut_at_functions() -> None:
    python = python_blocks("import a\n\n\ndef f():\n    pass\n\n\n@d\ndef g():\n    pass\n")
    assert [(b.start, b.end, b.trail) for b in python] == [(1, 3, ()), (4, 7, ("f",)), (8, 10, ("g",))]
    cuda = cuda_blocks('#include <a>\n\n__device__ int f() { return 1; }\n\nextern "C" __global__ void k(int* p) {\n  p[0] = f();\n}\n')
    assert [(b.start, b.trail) for b in cuda] == [(1, ()), (3, ("f",)), (5, ("k",))]


def test_code_that_does_not_parse_is_still_one_chunk() -> None:
    assert [(b.start, b.end) for b in python_blocks("def f(:\n  x\n")] == [(1, 2)]
    assert cuda_blocks("__global__ void k( {\n")[-1].end == 1


def test_code_in_a_page_is_searched_but_not_embedded(tmp_path: Path) -> None:
    page = "kernel_wiki/techniques/swizzle.md"
    text = PAGES[page] + "\n## Example\n\n```ptx\nmov.u32 %r1, 0;\n```\n"
    corpus = load_corpus(write_corpus(tmp_path, **{page: text}))
    *prose, example = chunk_record(corpus.records["technique/swizzle"], tmp_path, 256, HashEncoder().count_tokens)
    assert "mov.u32" in example.searched_text and "mov.u32" not in example.embedded_text
    assert not example.is_prose and [chunk.is_prose for chunk in prose] == [True, True, False]  # the last is one short sentence
