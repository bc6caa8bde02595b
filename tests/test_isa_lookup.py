"""Looking instructions up: spellings, globs, modifiers, what a GPU lacks, tables and differences between targets."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.errors import InputError
from indexer.gpus import load_gpus
from indexer.isa_examples import Example
from indexer.records import IsaRecord
from retriever.inputs import find_gpu
from retriever.isa_diff import diff, diff_text, target_of
from retriever.isa_lookup import isa_text, look_up, matching, verdict
from retriever.isa_modifiers import explain, load_glossary, mnemonics, spelled, syntax_words
from retriever.isa_table import acceptance_text, fold_targets, form_label, machine_text

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = load_glossary(ROOT)
GPUS = load_gpus(ROOT)
ALL = ["sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_100a", "sm_103", "sm_103f",
       "sm_103a", "sm_110", "sm_110f", "sm_110a", "sm_120", "sm_120f", "sm_120a", "sm_121", "sm_121f", "sm_121a"]  # fmt: skip
SYNTAX = """## Syntax

```text
wgmma.mma_async.sync.aligned.m64n{N}k16.{f32|f16}.bf16.bf16  d, a, b;   // .later is only said in passing
copy.{1..3}d.shared{::cta}{.cta_group::1|2}{.L2::{64B|128B}}{.L1::...}.k{16|32}.type [dst];
```

## Example

```ptx accept=sm_90a version=8.0
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16.odd {%d}, %a, %b;
```
"""


def entry(id: str, mnemonic: str, body: str = "## Syntax\n\n```text\nx\n```\n", **fields) -> IsaRecord:
    record = IsaRecord(
        title=f"{mnemonic}, a test",
        summary="S.",
        mnemonic=mnemonic,
        ptx="8.0",
        targets="some",
        sources=[{"title": "t"}],
        reviewed="2026-11-29",
        **fields,
    )
    record._id, record._location, record._body = id, f"{id}.md:1-9", body
    return record


WGMMA = entry("isa/wgmma/wgmma.mma_async", "wgmma.mma_async", SYNTAX, sm_min=90, requires=("wgmma",), instead=("isa/matrix/mma.sync",))
MMA = entry(
    "isa/matrix/mma.sync", "mma.sync", "## Syntax\n\n```text\nmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d;\n```\n", sm_min=75
)
FP8 = entry("isa/matrix/mma.sync.fp8", "mma.sync", "## Syntax\n\n```text\nmma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 d;\n```\n")
MUL24 = entry("isa/integer/mul24", "mul24", also=("mad24",))
CP = entry("isa/async-copy/cp.async", "cp.async")
BULK = entry("isa/async-copy/cp.async.bulk", "cp.async.bulk")
TID = entry("isa/special-registers/thread-and-block", "%tid", also=("%ntid", "%envreg0"))
BOUNDS = entry("isa/directives/maxntid", ".maxntid")
GUARD = entry("isa/control/predication", "@p", also=("@!p",))
SPACE = entry("isa/state-spaces/overview", "state space", also=(".tex",))
TEX = entry("isa/texture/tex", "tex")
ADD = entry("isa/integer/add", "add", "## Syntax\n\n```text\nadd{.sat}.{u32|s32|u64} d, a, b;\n```\n")
ADD_FLOAT = entry(
    "isa/float/add.f32", "add.f32", "## Syntax\n\n```text\nadd{.rn|.rz}{.ftz}{.sat}.{f32|f64} d;\n```\n", also=("add.f64", "add.rn.f32")
)
ENTRIES = [CP, BULK, MMA, FP8, MUL24, WGMMA, TID, BOUNDS, GUARD, SPACE, TEX, ADD, ADD_FLOAT]


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("cp.async", CP.id),
        ("cp.async.ca.shared.global", CP.id),
        ("cp.async.bulk.global.shared::cta.bulk_group", BULK.id),
        ("@%p0 cp.async.cg.shared.global [%r1], [%rd2], 16;", CP.id),
        ("WGMMA.MMA_ASYNC", WGMMA.id),
        ("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16", WGMMA.id),
        ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", FP8.id),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", MMA.id),
        ("mad24.lo.s32", MUL24.id),
        ("isa/matrix/mma.sync.fp8", FP8.id),
        ("mma.sync", MMA.id),
        ("%tid", TID.id),
        ("tid", TID.id),
        ("%ntid.y", TID.id),
        ("%envreg7", TID.id),
        (".maxntid", BOUNDS.id),
        ("maxntid", BOUNDS.id),
        ("@p", GUARD.id),
        ("@!p", GUARD.id),
        (".tex", SPACE.id),
        ("tex.2d.v4.f32.f32", TEX.id),
        ("add.s32", ADD.id),
        ("add.rn.f32", ADD_FLOAT.id),
        ("add.rz.ftz.f32", ADD_FLOAT.id),
        ("add.f64", ADD_FLOAT.id),
    ],
)
def test_an_instruction_is_found_however_it_is_spelled(name, id):
    assert look_up(name, ENTRIES, GLOSSARY).id == id


@pytest.fixture(scope="module")
def pages() -> list[IsaRecord]:
    from indexer.corpus import load_corpus

    return [record for record in load_corpus(ROOT).records.values() if isinstance(record, IsaRecord)]


def test_every_mnemonic_of_the_pages_finds_a_page_that_has_it(pages):
    wrong = [(name, page.id) for page in pages for name in mnemonics(page) if name not in mnemonics(look_up(name, pages, GLOSSARY))]
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("%tid", "isa/special-registers/thread-and-block"),
        ("%ntid", "isa/special-registers/thread-and-block"),
        ("%smid", "isa/special-registers/sm"),
        ("%pm5_64", "isa/special-registers/performance-monitors"),
        (".maxntid", "isa/directives/maxntid"),
        (".maxnctapersm", "isa/control/minnctapersm"),
        ("@%p", "isa/control/predication"),
        ("mma.sync", "isa/matrix/mma.sync"),
        ("add.rn.f32", "isa/float/add.f32"),
        ("add.rn.ftz.f32", "isa/float/add.f32"),
        ("add.s32", "isa/integer/add"),
        ("sub.f16", "isa/float/add.f16"),
        ("div.rn.f32", "isa/float/div.f32"),
        ("div.s32", "isa/integer/div"),
        ("min.f64", "isa/float/min.f64"),
        ("min.s32", "isa/integer/min"),
        ("fence.sc.gpu", "isa/barrier/fence.acq_rel"),
        ("cvt.rn.f16x2.e2m1x2", "isa/convert/cvt.fp4"),
    ],
)
def test_the_page_of_a_typed_name_is_that_of_its_type(name, id, pages):
    assert look_up(name, pages, GLOSSARY).id == id


def test_an_unknown_instruction_names_the_nearest():
    with pytest.raises(InputError, match=r'no instruction "cp.asink"; nearest: .*cp.async'):
        look_up("cp.asink", ENTRIES, GLOSSARY)


def test_a_glob_matches_mnemonics_and_further_ones():
    assert [e.id for e in matching("cp.async*", ENTRIES)] == [CP.id, BULK.id]
    assert [e.id for e in matching("mad2?", ENTRIES)] == [MUL24.id]
    with pytest.raises(InputError, match="no instruction matches"):
        matching("zz*", ENTRIES)


def test_what_a_person_pastes_is_cut_to_the_instruction():
    assert spelled("  @!%p1 ld.global.u32 %r1, [%rd1]; // x") == "ld.global.u32"
    assert spelled("") == ""


def test_the_shorthand_of_a_syntax_is_expanded_and_comments_are_not_read():
    words = syntax_words(SYNTAX)
    assert {"1d", "2d", "3d", "shared::cta", "cta_group::1", "cta_group::2", "L2::64B", "L2::128B", "k16", "k32", "L1::"} <= words
    assert "later" not in words


def test_each_modifier_is_known_to_the_page_or_not_and_means_something():
    parts = {m.text: m for m in explain("wgmma.mma_async.sync.m64n128k16.f32.bf16.odd.acq_rel.nonsense", WGMMA, GLOSSARY)}
    assert [parts[text].known for text in ("mma_async", "m64n128k16", "f32", "odd", "acq_rel", "nonsense")] == [
        *("name", "syntax", "syntax", "example", "", ""),
    ]
    assert parts["m64n128k16"].meaning == "product of a 64 x 16 by a 16 x 128 matrix"
    assert parts["acq_rel"].meaning and not parts["nonsense"].meaning


def test_a_placeholder_stands_for_its_group():
    copy = entry("isa/x/copy", "copy", SYNTAX)
    assert [m.known for m in explain("copy.u32.L1::evict_last.relaxed", copy, GLOSSARY)] == ["syntax", "syntax", ""]


def verified(accepted: list[str], kind: str = "family", error: str = "Instruction 'x' not supported on .target '{target}'") -> dict:
    refused = [{"kind": kind, "error": error, "targets": [target for target in ALL if target not in accepted]}]
    return {"version": "8.0", "accepted": accepted, "refused": refused, "since": "8.0"}


def record(**examples: list[dict]) -> dict:
    return {"assemblers": ["13.0.88"], "nvdisasm": "13.1", "entries": {id: {"hash": "", "examples": each} for id, each in examples.items()}}


def test_a_gpu_that_lacks_it_gets_the_refusal_and_what_to_use_instead():
    known = record(**{WGMMA.id: [verified(["sm_90a"])]})
    text = isa_text(WGMMA, find_gpu("A100", GPUS), ROOT, ENTRIES, known)
    assert text.startswith("**NVIDIA A100")
    assert "never" in text.splitlines()[0]
    assert "ptxas for sm_80 (family): Instruction 'x' not supported on .target 'sm_80'" in text
    assert "There use isa/matrix/mma.sync" in text


def test_what_the_assembler_refuses_outweighs_the_head_of_a_page():
    plain = entry("isa/x/plain", "plain")
    gpu = find_gpu("H200", GPUS)
    assert verdict(plain, gpu).status == "runs"
    assert verdict(plain, gpu, record(**{plain.id: [verified(["sm_100a"])]})).status == "never"
    assert verdict(plain, gpu, record(**{plain.id: [verified(["sm_100a"], "version", "requires PTX ISA .version 8.6")]})).status == "runs"


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (ALL, "every target"),
        (ALL[1:], "sm_80 and later"),
        (ALL[:6], "sm_75 to sm_89"),
        ([], "none"),
        (["sm_90a"], "sm_90a"),
        (["sm_100a", "sm_100f", "sm_103a", "sm_103f"], "sm_100a/f, sm_103a/f"),
        (["sm_90", "sm_90a", "sm_120"], "sm_90 and a, sm_120"),
    ],
)
def test_targets_fold_into_words_that_claim_no_more(names, text):
    assert fold_targets(names) == text


def test_a_row_is_named_by_the_instructions_of_the_page():
    assert form_label("mov.u32 %a, 1;\nfoo.x.u32 %a; bar.y %b;\n", ["bar"]) == "`bar.y`"
    assert form_label("mov.u32 %a, 1;\nfoo.x.u32 %a;\n", ["other"]) == "`foo.x.u32`"


def test_a_counter_example_that_adds_nothing_takes_no_row():
    examples = [Example(line, "foo.x;\n", (), (), "8.0", "") for line in (1, 2)]
    answers = [verified(["sm_90a"]) | {"since": "8.1"}, {key: value for key, value in verified(["sm_90a"]).items() if key != "since"}]
    text = acceptance_text({"examples": answers[::-1]}, examples, ["foo"], record())
    assert text.count("| `foo.x` |") == 1 and "| `foo.x` | sm_90a | 8.1 | family: Instruction 'x' not supported there" in text


def test_the_machine_table_says_native_or_how_many():
    groups = [
        {"targets": ["sm_89"], "opcodes": {"QMMA": 1}, "native": True},
        {"targets": ["sm_90a"], "opcodes": {"F2FP": 12, "HMMA": 2}, "native": False},
    ]
    text = machine_text({"examples": [{"sass": {"mma.x": groups}}]}, record())
    assert "| `mma.x` | native: QMMA | 14 instructions: 12 F2FP, 2 HMMA |" in text


def test_a_target_has_new_gone_and_changed_instructions(tmp_path):
    page = tmp_path / "isa" / "x"
    page.mkdir(parents=True)
    for name, count in (("new", 1), ("gone", 1), ("changed", 2), ("same", 1)):
        fence = f"```ptx accept=sm_90a version=8.0\n{name}.form;\n```\n"
        (page / f"{name}.md").write_text(f"---\nmnemonic: {name}\n---\n" + fence * count, encoding="utf-8")
    entries = [entry(f"isa/x/{name}", name) for name in ("changed", "gone", "new", "same")]
    both, old, young = verified(["sm_90a", "sm_100a"]), verified(["sm_90a"]), verified(["sm_100a"])
    known = record(**{"isa/x/new": [young], "isa/x/gone": [old], "isa/x/changed": [both, young], "isa/x/same": [both]})
    changes = {change.id: change for change in diff("sm_90a", "sm_100a", entries, known, tmp_path)}
    assert {id: change.what for id, change in changes.items()} == {
        "isa/x/new": "new", "isa/x/gone": "gone", "isa/x/changed": "changed",
    }  # fmt: skip
    assert changes["isa/x/changed"].forms == ("new: `changed.form`",)
    assert "not supported on .target 'sm_100a'" in changes["isa/x/gone"].why
    assert "## New on sm_100a: 1" in diff_text("sm_90a", "sm_100a", list(changes.values()))


def test_targets_are_named_by_target_capability_or_product():
    assert [target_of(name, GPUS) for name in ("sm_100f", "H200", "9.0", "A100")] == ["sm_100f", "sm_90a", "sm_90a", "sm_80"]
    with pytest.raises(InputError, match='no target "sm_91"'):
        target_of("sm_91", GPUS)


def test_the_glossary_explains_nearly_every_modifier_of_an_accepted_example(pages):
    from indexer.isa_examples import read_examples
    from retriever.isa_sass import forms

    parts = [
        part
        for page in pages
        for example in read_examples(ROOT, ROOT / page.path)
        if example.accept
        for form in forms(example.text, mnemonics(page))
        for part in explain(form, page, GLOSSARY)
    ]
    assert sum(bool(part.meaning) or part.known == "name" for part in parts) > 0.9 * len(parts)
    assert all(part.known for part in parts)
