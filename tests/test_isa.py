"""Instruction pages: the grammar of their examples, the assembler check, and the committed record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from indexer.corpus import load_corpus
from indexer.errors import CorpusError, InputError
from indexer.isa_examples import TARGET_VERSIONS, examples_hash, isa_pages, page_mnemonics, read_examples
from retriever.assemblers import Answer, Assembler, assemblers
from retriever.isa_batch import Batches
from retriever.isa_kinds import OTHER, error_kind
from retriever.isa_record import VERIFIED, read_verified, refusal, render
from retriever.isa_sass import forms
from retriever.isa_verify import check_verified, verify

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
    found = verify(tmp_path, found=FOUND[:1], reading=[]).problems
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
    (example,) = verify(tmp_path, found=FOUND[:1], reading=[], targets=["sm_90a"]).record["entries"]["isa/family/op"]["examples"]
    assert example["accepted"] == ["sm_90a"]
    assert example["codes"] == {"C7508": ["sm_90a"]}


@needs_ptxas
def test_the_lowest_version_is_searched_on_the_oldest_accepting_target(tmp_path):
    text = ".reg .b64 %p;\ncreatepolicy.fractional.L2::evict_last.b64 %p, 0.5;\n"
    page(tmp_path, fence("ptx accept=sm_90,sm_80 version=8.0", text))
    (example,) = verify(tmp_path, found=FOUND[:1], reading=[], targets=["sm_80"]).record["entries"]["isa/family/op"]["examples"]
    assert example["since"] == "7.4"


class StubAssembler(Assembler):
    """Accepts everything, or refuses one target, for tests of the record that need no assembler."""

    def answer(self, module: str, target: str, folder: Path, cubin: Path | None = None) -> Answer:
        refused = f"refuse:{target}" in str(self.path)
        return Answer(not refused, (), ("Feature 'x' requires .target sm_90 or higher",), (), None)


def stub(version: str = "13.0.88", targets: tuple[str, ...] = tuple(TARGET_VERSIONS), refuses: str = "") -> StubAssembler:
    return StubAssembler(Path(f"refuse:{refuses}"), version, frozenset(targets), "9.0")


def test_a_written_record_is_in_sync_until_an_example_changes(tmp_path):
    page(tmp_path, fence("ptx accept=sm_80 version=7.0"))
    verify(tmp_path, write=True, found=[stub()], reading=[])
    assert check_verified(tmp_path) == []
    page(tmp_path, fence("ptx accept=sm_80 version=7.1"))
    assert check_verified(tmp_path) == ["isa/family/op.md:7: examples changed since they were verified; run `warplore isa verify --write`"]


def test_a_page_without_a_record_and_a_record_without_a_page_are_problems(tmp_path):
    path = page(tmp_path, fence("ptx accept=sm_80 version=7.0"))
    verify(tmp_path, write=True, found=[stub()], reading=[])
    path.rename(path.with_name("other.md"))
    assert check_verified(tmp_path) == [
        "isa/family/other.md:1: not in isa/verified.json; run `warplore isa verify --write`",
        "isa/verified.json:1: isa/family/op has no page; run `warplore isa verify --write`",
    ]


def test_nothing_is_written_while_a_claim_is_wrong(tmp_path):
    page(tmp_path, fence("ptx refuse=sm_80 version=7.0 error=x"), fence("ptx accept=sm_80 version=7.0"))
    assert verify(tmp_path, write=True, found=[stub()], reading=[]).problems
    assert not (tmp_path / VERIFIED).exists()


def test_targets_unknown_to_the_assembler_are_skipped_and_counted(tmp_path):
    page(tmp_path, fence("ptx accept=sm_80,sm_110 version=7.0"))
    result = verify(tmp_path, found=[stub(targets=("sm_80",))], reading=[])
    assert (result.problems, result.skipped) == ((), 1)


def test_the_strictest_assembler_decides_and_the_others_are_listed(tmp_path):
    page(tmp_path, fence("ptx accept=sm_80 version=7.0"))
    found = verify(tmp_path, found=[stub(), stub("13.5.37", refuses="sm_75")], reading=[])
    (example,) = found.record["entries"]["isa/family/op"]["examples"]
    assert found.problems == ()
    assert "sm_75" not in example["accepted"] and "sm_80" in example["accepted"]
    assert refusal(example, "sm_75") == ("target", "Feature 'x' requires .target sm_90 or higher")
    assert example["differs"] == {"13.0.88": {"accepted": ["sm_75"]}}


def test_a_claim_that_one_assembler_contradicts_is_wrong_and_says_which(tmp_path):
    page(tmp_path, fence("ptx accept=sm_75,sm_80 version=7.0"))
    (problem,) = verify(tmp_path, found=[stub(), stub("13.5.37", refuses="sm_75")], reading=[]).problems
    assert "claimed to be accepted for sm_75" in problem and problem.endswith("(ptxas 13.5.37)")


def test_a_record_that_an_assembler_no_longer_bears_out_is_a_problem(tmp_path):
    page(tmp_path, fence("ptx accept=sm_80 version=7.0"))
    verify(tmp_path, write=True, found=[stub(refuses="sm_75")], reading=[])
    (problem,) = verify(tmp_path, found=[stub()], reading=[]).problems
    assert problem == "isa/family/op.md:7: isa/verified.json differs from ptxas 13.0.88 on sm_75"


def test_an_old_record_is_one_problem_and_not_a_crash(tmp_path):
    page(tmp_path, fence("ptx accept=sm_80 version=7.0"))
    (tmp_path / VERIFIED).write_text('{"schema": 1, "entries": {}}', encoding="utf-8")
    (problem,) = check_verified(tmp_path)
    assert problem.startswith("isa/verified.json:1: schema 1, not 2")


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Feature 'cp.async' requires .target sm_80 or higher", "target"),
        ("Instruction 'wgmma.fence' not supported on .target 'sm_100a'", "family"),
        ("Feature 'createpolicy' requires PTX ISA .version 7.4 or later", "version"),
        ("Deprecated feature: 'vote' not supported as of PTX version 6.4", "version"),
        ("Parsing error near '.maxnreg': syntax error", "syntax"),
        ("Barrier number '16' out of range, expected to be in range [0..15]", "limit"),
        ("Argument 2 of instruction 'cp.async.bulk': unexpected value '1000', expected to be multiple of 16", "limit"),
        ("Arguments mismatch for instruction 'cvt'", "operand"),
        ("Unexpected instruction types specified for 'ldmatrix'", "modifier"),
        ("the moon is in the wrong house", OTHER),
    ],
)
def test_a_refusal_has_the_kind_that_its_wording_tells(message, kind):
    assert error_kind(message) == kind


MIXED = (
    ("bar.sync 0;\n", True),
    ("griddepcontrol.wait;\n", False),
    ("bar.sync 16;\n", False),
    (".reg .b32 %a\nbar.sync 0;\n", False),
    (".reg .b32 %a;\nadd.u32 %a, %a, 1;\n", True),
    (".visible .entry k()\n{\nret;\n}\n", True),
    (".shared .b8 much[4000000];\n.reg .b32 %a;\nmov.u32 %a, much;\nst.shared.u32 [%a], %a;\n", False),
)


@needs_ptxas
def test_a_batch_says_what_a_lone_run_of_each_example_says(tmp_path):
    """A syntax error, a resource error without a line, a module of its own and several plain errors in one batch."""
    examples = read_examples(tmp_path, page(tmp_path, *(fence("ptx accept=sm_80 version=8.0", text) for text, _ in MIXED)))
    judged = Batches(FOUND[0], tmp_path).judge(examples, "sm_80", "8.0")
    alone = {example: FOUND[0].assemble(example.module("sm_80", "8.0"), "sm_80", tmp_path) for example in examples}
    assert [judged[example].accepted for example in examples] == [accepted for _, accepted in MIXED]
    assert judged == alone


def test_a_partial_run_is_not_written(tmp_path):
    page(tmp_path, fence("ptx accept=sm_80 version=7.0"))
    with pytest.raises(InputError, match="every entry, target and version"):
        verify(tmp_path, write=True, only=["isa/family/op"], found=[stub()], reading=[])


def test_a_run_over_no_page_fails(tmp_path):
    with pytest.raises(InputError, match="no instruction pages"):
        verify(tmp_path, found=[stub()], reading=[])


@needs_ptxas
@pytest.mark.skipif(NOT_REFERENCE, reason="messages and verdicts are those of ptxas 13.0")
def test_every_page_keeps_its_claims_on_a_sample_of_targets():
    result = verify(ROOT, targets=SAMPLE, found=FOUND[:1], reading=[], versions=False)
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


def test_sm_min_is_stated_and_the_lowest_target_that_takes_an_example_of_the_instruction():
    records, verified = load_corpus(ROOT).records, read_verified(ROOT)["entries"]
    oldest = min(int(target[3:]) for target in TARGET_VERSIONS if target[3:].isdigit())
    for id, path in isa_pages(ROOT).items():
        answered = list(zip(read_examples(ROOT, path), verified[id]["examples"], strict=True))
        own = [each for example, each in answered if each["accepted"] and forms(example.text, page_mnemonics(path))]
        accepted = {target for each in own or verified[id]["examples"] for target in each["accepted"]}
        lowest = min(int(target[3:].rstrip("af")) for target in accepted)
        assert records[id].sm_min and lowest == max(records[id].sm_min, oldest), id


def test_every_neighbour_named_by_a_page_exists():
    records = load_corpus(ROOT).records
    missing = [(id, other) for id in isa_pages(ROOT) for other in records[id].instead if other not in records]
    assert missing == []
