"""Instruction pages: the grammar of their examples, the assembler check, and the committed record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from indexer.corpus import load_corpus
from indexer.errors import CorpusError, InputError
from indexer.isa_examples import TARGET_VERSIONS, examples_hash, isa_pages, read_examples
from retriever.assemblers import Assembler, Verdict, assemblers
from retriever.isa_verify import VERIFIED, check_verified, read_verified, render, verify

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ("sm_80", "sm_90a", "sm_100a")
"""An early, a Hopper-only and a Blackwell-only target: every page claims something about at least one of them."""
FOUND = assemblers()
needs_ptxas = pytest.mark.skipif(not FOUND, reason="no ptxas on PATH, in CUDA_HOME or in an installed wheel")
NOT_REFERENCE = not FOUND or not FOUND[0].version.startswith("13.0.")


def page(tmp_path: Path, *fences: str) -> Path:
    path = tmp_path / "isa" / "family" / "op.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("---\ntitle: op\n---\n\n## Example\n\n" + "\n".join(fences), encoding="utf-8")
    return path


def fence(info: str, text: str = "bar.sync 0;\n") -> str:
    return f"```{info}\n{text}```\n"


def read_problems(tmp_path: Path, *fences: str) -> list[str]:
    with pytest.raises(CorpusError) as caught:
        read_examples(tmp_path, page(tmp_path, *fences))
    return caught.value.problems


def test_an_info_string_gives_targets_version_and_error(tmp_path):
    path = page(tmp_path, fence('ptx accept=sm_90,sm_90a refuse=sm_80 version=8.0 error="requires .target sm_90"'))
    (example,) = read_examples(tmp_path, path)
    assert example.line == 7
    assert example.accept == ("sm_90", "sm_90a")
    assert example.refuse == ("sm_80",)
    assert (example.version, example.error) == ("8.0", "requires .target sm_90")


def test_blocks_in_other_languages_are_not_examples(tmp_path):
    path = page(tmp_path, fence("text"), fence("ptx accept=sm_80 version=7.0"), fence("cuda"))
    assert [example.accept for example in read_examples(tmp_path, path)] == [("sm_80",)]


@pytest.mark.parametrize(
    ("info", "message"),
    [
        ("ptx accpet=sm_80 version=7.0", 'unknown attribute "accpet"; did you mean "accept"?'),
        ("ptx accept=sm_8 version=7.0", 'unknown target "sm_8"'),
        ("ptx accept=sm_80", 'version must be a PTX ISA version such as 8.0, not ""'),
        ("ptx version=7.0", "states neither accept= nor refuse=; fence a block that is not an example as text"),
        ("ptx refuse=sm_80 version=7.0", 'refuse= and error="part of the message" go together'),
        ("ptx accept=sm_80 version=7.0 error=x", 'refuse= and error="part of the message" go together'),
        ("ptx accept=sm_80 refuse=sm_80 version=7.0 error=x", "sm_80 in both accept and refuse"),
        ("ptx accept=sm_80 accept=sm_90 version=7.0", "an attribute is given twice"),
        ('ptx accept=sm_80 version=7.0 error="x', "info string cannot be read"),
    ],
)
def test_a_broken_info_string_is_named_with_its_line(tmp_path, info, message):
    assert any(problem.startswith("isa/family/op.md:7: ") and message in problem for problem in read_problems(tmp_path, fence(info)))


def test_a_block_may_not_choose_its_own_target(tmp_path):
    (problem,) = read_problems(tmp_path, fence("ptx accept=sm_80 version=7.0", ".target sm_80\nbar.sync 0;\n"))
    assert problem == "isa/family/op.md:7: states .target; the checker sets .version, .target and .address_size"


def test_a_page_without_an_accepted_example_is_refused(tmp_path):
    (problem,) = read_problems(tmp_path, fence("ptx refuse=sm_80 version=7.0 error=x"))
    assert problem.endswith("no example; add a ptx fence with accept=TARGETS version=N.N")


def test_a_body_becomes_a_kernel_and_the_version_rises_to_the_targets_own(tmp_path):
    (example,) = read_examples(tmp_path, page(tmp_path, fence("ptx accept=sm_80,sm_120 version=7.0")))
    assert example.module("sm_80").startswith(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry example(")
    assert example.module("sm_120").startswith(".version 8.7\n.target sm_120\n")


def test_a_text_with_an_entry_stands_at_module_level(tmp_path):
    text = ".visible .entry k() .maxnreg 64\n{\n    ret;\n}\n"
    (example,) = read_examples(tmp_path, page(tmp_path, fence("ptx accept=sm_80 version=7.0", text)))
    assert example.module("sm_80") == ".version 7.0\n.target sm_80\n.address_size 64\n" + text


def test_the_hash_follows_text_and_claims_but_not_the_line(tmp_path):
    one = examples_hash(read_examples(tmp_path, page(tmp_path, fence("ptx accept=sm_80 version=7.0"))))
    moved = examples_hash(read_examples(tmp_path, page(tmp_path, "Prose.\n", fence("ptx accept=sm_80 version=7.0"))))
    claims = examples_hash(read_examples(tmp_path, page(tmp_path, fence("ptx accept=sm_90 version=7.0"))))
    assert one == moved
    assert one != claims


@needs_ptxas
def test_wrong_claims_are_found_with_file_line_and_answer(tmp_path):
    page(
        tmp_path,
        fence("ptx accept=sm_80 version=8.0", "griddepcontrol.wait;\n"),
        fence("ptx refuse=sm_90 version=8.0 error=sm_90", "griddepcontrol.wait;\n"),
        fence('ptx refuse=sm_80 version=8.0 error="requires coffee"', "griddepcontrol.wait;\n"),
    )
    found = verify(tmp_path, found=FOUND[:1]).problems
    assert [problem.split(",")[0].split(" with ")[0] for problem in found] == [
        "isa/family/op.md:11: claimed to be refused for sm_90",
        "isa/family/op.md:15: claimed to be refused for sm_80",
        "isa/family/op.md:7: claimed to be accepted for sm_80",
    ]
    assert "but it is accepted" in found[0]
    assert 'with "requires coffee", but it is refused: ' in found[1]
    assert "requires .target sm_90 or higher" in found[2]


@needs_ptxas
def test_advisories_that_come_with_success_are_recorded(tmp_path):
    page(tmp_path, fence("ptx accept=sm_90a version=8.0", "setmaxnreg.inc.sync.aligned.u32 232;\n"))
    (example,) = verify(tmp_path, found=FOUND[:1], targets=["sm_90a"]).record["entries"]["isa/family/op"]["examples"]
    assert example["targets"] == {"sm_90a": "accepted"}
    assert example["codes"] == ["C7508"]


@needs_ptxas
def test_the_lowest_version_is_searched_on_the_oldest_accepting_target(tmp_path):
    text = ".reg .b64 %p;\ncreatepolicy.fractional.L2::evict_last.b64 %p, 0.5;\n"
    page(tmp_path, fence("ptx accept=sm_90,sm_80 version=8.0", text))
    (example,) = verify(tmp_path, found=FOUND[:1], targets=["sm_80"]).record["entries"]["isa/family/op"]["examples"]
    assert example["min_version"] == "7.4"


class StubAssembler(Assembler):
    """Accepts everything, for tests of the record that need no assembler."""

    def assemble(self, module: str, target: str, folder: Path) -> Verdict:
        return Verdict(True, (), ())


def stub(version: str = "13.0.88", targets: tuple[str, ...] = tuple(TARGET_VERSIONS)) -> StubAssembler:
    return StubAssembler(Path("ptxas"), version, frozenset(targets), "9.0")


def test_a_written_record_is_in_sync_until_an_example_changes(tmp_path):
    page(tmp_path, fence("ptx accept=sm_80 version=7.0"))
    verify(tmp_path, write=True, found=[stub()])
    assert check_verified(tmp_path) == []
    page(tmp_path, fence("ptx accept=sm_80 version=7.1"))
    assert check_verified(tmp_path) == ["isa/family/op.md:7: examples changed since they were verified; run `warplore isa verify`"]


def test_a_page_without_a_record_and_a_record_without_a_page_are_problems(tmp_path):
    path = page(tmp_path, fence("ptx accept=sm_80 version=7.0"))
    verify(tmp_path, write=True, found=[stub()])
    path.rename(path.with_name("other.md"))
    assert check_verified(tmp_path) == [
        "isa/family/other.md:1: not in isa/verified.json; run `warplore isa verify`",
        "isa/verified.json:1: isa/family/op has no page; run `warplore isa verify`",
    ]


def test_nothing_is_written_while_a_claim_is_wrong(tmp_path):
    page(tmp_path, fence("ptx refuse=sm_80 version=7.0 error=x"), fence("ptx accept=sm_80 version=7.0"))
    assert verify(tmp_path, write=True, found=[stub()]).problems
    assert not (tmp_path / VERIFIED).exists()


def test_targets_unknown_to_the_assembler_are_skipped_and_counted(tmp_path):
    page(tmp_path, fence("ptx accept=sm_80,sm_110 version=7.0"))
    result = verify(tmp_path, found=[stub(targets=("sm_80",))])
    assert (result.problems, result.skipped) == ((), 1)


def test_a_partial_run_is_not_written(tmp_path):
    page(tmp_path, fence("ptx accept=sm_80 version=7.0"))
    with pytest.raises(InputError, match="every entry, target and version"):
        verify(tmp_path, write=True, only=["isa/family/op"], found=[stub()])


def test_a_run_over_no_page_fails(tmp_path):
    with pytest.raises(InputError, match="no instruction pages"):
        verify(tmp_path, found=[stub()])


@needs_ptxas
@pytest.mark.skipif(NOT_REFERENCE, reason="messages and verdicts are those of ptxas 13.0")
def test_every_page_keeps_its_claims_on_a_sample_of_targets():
    result = verify(ROOT, targets=SAMPLE, found=FOUND[:1], versions=False)
    assert result.problems == ()
    assert result.examples >= 2 * len(isa_pages(ROOT))


def test_the_committed_record_matches_the_pages():
    assert check_verified(ROOT) == []
    text = (ROOT / VERIFIED).read_text(encoding="utf-8")
    assert render(json.loads(text)) == text


def test_the_committed_record_names_no_machine_path():
    text = (ROOT / VERIFIED).read_text(encoding="utf-8")
    assert ".ptx, line" not in text
    assert not any(word in text for word in ("/usr/", "/tmp/", "/home/", "site-packages"))


def test_sm_min_is_the_lowest_target_that_takes_an_example():
    records, verified = load_corpus(ROOT).records, read_verified(ROOT)["entries"]
    oldest = min(int(target[3:]) for target in TARGET_VERSIONS if target[3:].isdigit())
    for id, entry in verified.items():
        accepted = {target for example in entry["examples"] for target, verdict in example["targets"].items() if verdict == "accepted"}
        lowest = min(int(target[3:].rstrip("af")) for target in accepted)
        assert lowest == max(records[id].sm_min or 0, oldest), id


def test_every_neighbour_named_by_a_page_exists():
    records = load_corpus(ROOT).records
    missing = [(id, other) for id in isa_pages(ROOT) for other in records[id].instead if other not in records]
    assert missing == []
