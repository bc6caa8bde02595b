"""Corpus files to records: what is refused, with the exact place and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.corpus import corpus_files, load_corpus, read_record
from indexer.records import KIND_TITLES
from indexer.vocabulary import load_vocabulary
from retriever.check import check_corpus
from tests.corpora import PAGES, REPOSITORY, write_corpus

TECHNIQUE = "kernel_wiki/techniques/swizzle.md"


def problems_of(tmp_path: Path, path: str, old: str, new: str) -> tuple[str, ...]:
    page = PAGES[path]
    assert old in page
    return load_corpus(write_corpus(tmp_path, **{path: page.replace(old, new, 1)})).problems


def test_the_tiny_corpus_is_whole(tmp_path: Path) -> None:
    corpus = load_corpus(write_corpus(tmp_path))
    assert corpus.problems == ()
    assert list(corpus.records) == [
        "guide/shared-bank-conflict",
        "hardware/wgmma",
        "isa/wgmma/wgmma.mma_async",
        "pr/acme/kernels/7",
        "technique/swizzle",
        "technique/tma-bulk-copy",
        "zoo/transpose/padded",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("bottlenecks:", "botlenecks:", f'{TECHNIQUE}:4: unknown key "botlenecks"; did you mean "bottlenecks"?'),
        ("[swizzle]", "[swizzling-x]", f'{TECHNIQUE}:5: unknown word "swizzling-x" in techniques; did you mean "swizzle"?'),
        ("[transpose, gemm]", "[transpose, gem]", f'{TECHNIQUE}:6: unknown word "gem" in families; did you mean "gemm"?'),
        ("title: Shared-memory swizzle\n", "", f"{TECHNIQUE}:1: required key title is missing"),
        ("---\ntitle", "title", f"{TECHNIQUE}:1: no front matter; the first line must be exactly ---"),
        ("COMMON---", "COMMON--", f"{TECHNIQUE}:1: front matter is not closed by a line that is exactly ---"),
        ("title: Shared-memory swizzle", "title: [Shared", f"{TECHNIQUE}:3: front matter is not YAML: did not find expected ',' or ']'"),
        (
            "COMMON",
            "COMMONsm_min: ninety\n",
            f"{TECHNIQUE}:10: sm_min: Input should be a valid integer, unable to parse string as an integer, not 'ninety'",
        ),
    ],
)
def test_a_broken_page_is_refused_with_place_and_remedy(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert message in problems_of(tmp_path, TECHNIQUE, old, new)


def test_a_fallback_for_something_not_required_is_refused(tmp_path: Path) -> None:
    path = "kernel_wiki/techniques/tma-bulk-copy.md"
    assert problems_of(tmp_path, path, "requires: [tma]", "requires: [mbarrier]") == (
        f"{path}:7: fallback for tma, which is not in requires",
    )


def test_a_page_without_text_is_refused(tmp_path: Path) -> None:
    text = PAGES[TECHNIQUE].split("\n## Idea")[0]
    assert load_corpus(write_corpus(tmp_path, **{TECHNIQUE: text})).problems == (
        f"{TECHNIQUE}:11: the page has no text below its front matter",
    )


def test_a_broken_page_loses_no_other_page(tmp_path: Path) -> None:
    corpus = load_corpus(write_corpus(tmp_path, **{TECHNIQUE: "nothing"}))
    assert len(corpus.problems) == 1 and len(corpus.records) == len(PAGES) - 1


def test_a_page_that_is_no_text_is_refused(tmp_path: Path) -> None:
    root = write_corpus(tmp_path)
    (root / TECHNIQUE).write_bytes(b"---\n\xff\xfe")
    (problem,) = load_corpus(root).problems
    assert problem.startswith(f"{TECHNIQUE}:1: cannot be read as UTF-8 text")


TEMPLATES = {
    "technique": "kernel_wiki/techniques",
    "hardware": "kernel_wiki/hardware",
    "guide": "kernel_wiki/guides",
    "pr": "pr_archive",
    "zoo": "kernel_wiki/zoo",
    "attempt": "kernel_wiki/attempts",
    "isa": "isa",
}


@pytest.mark.parametrize("kind", TEMPLATES)
def test_every_template_is_a_valid_entry_and_no_entry(kind: str) -> None:
    path = REPOSITORY / TEMPLATES[kind] / "_template.md"
    read_record(REPOSITORY, kind, path, load_vocabulary(REPOSITORY))
    assert path not in [entry for _, entry in corpus_files(REPOSITORY)]


def test_every_record_of_the_repository_is_valid_and_knows_its_place() -> None:
    corpus = load_corpus(REPOSITORY)
    assert corpus.problems == ()
    for record in corpus.records.values():
        assert record.kind in KIND_TITLES
        lines = (REPOSITORY / record.path).read_text(encoding="utf-8").count("\n")
        assert record.location == f"{record.path}:1-{lines}"


def test_a_link_to_a_file_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    links = "\nSee [bulk copies](tma-bulk-copy.md#idea), [nothing](gone.md), [a site](https://example.org) and `f[i](x)`.\n"
    root = write_corpus(tmp_path, **{TECHNIQUE: PAGES[TECHNIQUE] + links + "\n```\n[&](T) {}\n```\n"})
    last = len((root / TECHNIQUE).read_text(encoding="utf-8").splitlines()) - 4
    found, _ = check_corpus(root)
    assert [line for line in found if "links to" in line] == [f'{TECHNIQUE}:{last}: links to "gone.md", and there is no such file']
