"""Machine code: examples made live, listings read, opcodes counted and linked to pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.isa_examples import Example, isa_pages
from indexer.vocabulary import load_vocabulary
from retriever.assemblers import assemblers, disassemblers
from retriever.isa_links import linked, ptx_page, sass_page, sass_table
from retriever.isa_record import read_verified
from retriever.isa_sass import alone, is_form, live, machine_lines, opcode, read_sass, statements
from retriever.kernels import sass
from retriever.kernels.read import read_kernel

ROOT = Path(__file__).resolve().parent.parent
LISTING = """
\tcode for sm_90a
\t\tFunction : gemm_kernel
\t.headerflags\t@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;             /* 0x00000a00ff017624 */
        /*0010*/              @!P0 LDGSTS.E.BYPASS.128 [R3], [R4.64] ; /* 0x0 */
        /*0020*/                   LDSM.16.M88.4 R4, [R2] ;            /* 0x0 */
        /*0030*/                   HMMA.16816.F32.BF16 R8, R4, R6, R8 ; /* 0x0 */
        /*0040*/                   HMMA.16816.F32.BF16 R12, R4, R6, R12 ; /* 0x0 */
        /*0050*/                   STL [R1], R31 ;                     /* 0x0 */
"""
NEEDED = [each for each in assemblers() if disassemblers() and each.version <= disassemblers()[0].version]
needs_tools = pytest.mark.skipif(not NEEDED, reason="no ptxas with an nvdisasm that reads its code")


def test_statements_are_split_and_comments_left_out():
    assert statements("mov.u32 %a, 1; add.u32 %a, %a, 1; // no\nbar.sync 0;\n") == ["mov.u32 %a, 1;", "add.u32 %a, %a, 1;", "bar.sync 0;"]


@pytest.mark.parametrize(
    ("form", "mnemonic", "belongs"),
    [
        ("mma.sync.aligned.m16n8k16.f32", "mma.sync", True),
        ("cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.e4m3x2", True),
        ("shared::cta.x", "shared", False),
        ("tcgen05.wait::ld.sync", "tcgen05.wait", True),
        ("mmap.sync", "mma.sync", False),
    ],
)
def test_a_form_belongs_to_a_mnemonic_whose_parts_it_has_in_order(form, mnemonic, belongs):
    assert is_form(form, [mnemonic]) is belongs


def test_a_live_example_loads_and_stores_every_register():
    text = live(Example(1, ".reg .b32 %r<2>;\n.reg .pred %p;\nfoo.b32 %r0, %r1;\nret;\n", ("sm_80",), (), "7.0", ""), ("foo",)).text
    assert text.count("ld.volatile.global.b32") == 3 and "setp.ne.u32 %p" in text
    assert text.index("foo.b32") < text.index("st.volatile.global.b32 [%wlio+8], %r0;")
    assert "ret;" not in text


def test_an_instruction_alone_keeps_its_surroundings_and_the_labels_of_what_is_left_out():
    text = ".reg .b32 %r<3>;\nmov.u32 %r0, 1;\n@%p bra over;\nfoo.a %r1, %r0;\nover: done: foo.b %r2, %r0;\nbar %r1;\n"
    example = Example(1, text, ("sm_80",), (), "7.0", "")
    assert statements(alone(example, "foo.a", ("foo",)).text)[1:] == [
        "mov.u32 %r0, 1;", "@%p bra over;", "foo.a %r1, %r0;", "over: done: bar %r1;",
    ]  # fmt: skip
    assert "foo.a" not in alone(example, "foo.b", ("foo",)).text


def test_labels_and_a_guard_before_an_instruction_are_not_part_of_it():
    assert [opcode(row) for row in ("a: b: foo.x %r;", "c: @!%p foo.y;", "@%p foo.z;", ".reg .b32 %r;")] == ["foo.x", "foo.y", "foo.z", ""]


def test_a_carry_is_made_live_on_both_sides():
    text = live(Example(1, ".reg .b32 %r<2>;\naddc.cc.u32 %r0, %r1, 1;\n", ("sm_80",), (), "7.0", ""), ("addc",)).text
    order = [
        text.index(row)
        for row in ("add.cc.u32 %wlt, %wlt, -1;", "addc.cc.u32 %r0", "addc.u32 %wlt, 0, 0;", "st.volatile.global.b32 [%wlio], %wlt;")
    ]
    assert order == sorted(order)


def test_each_lane_has_its_own_values_where_no_address_is_involved():
    plain, addressed = (
        live(Example(1, f".reg .b32 %r<2>;\n{row}\n", ("sm_80",), (), "7.0", ""), ("foo",)).text
        for row in ("foo %r0, %r1;", "foo %r0, [%r1];")
    )
    assert "%laneid" in plain and "%laneid" not in addressed


def test_a_listing_gives_opcodes_by_line_of_ptx():
    head = '\t.section\t.text.example_0,"ax"\n\t//## File "x", line 7\n'
    text = head + "  /*0000*/  @P0 FFMA R1, R2, R3, R4 ;\n  /*0010*/  HFMA2 R1, -RZ, RZ, 0, 0 ;\n"
    assert machine_lines(text) == {"example_0": {7: ["FFMA", "MOV"]}}


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("IMAD.MOV.U32 R1, RZ, RZ, R2", "MOV"),
        ("IMAD.U32 R1, RZ, RZ, UR4", "MOV"),
        ("IMAD.MOV R1, RZ, RZ, -R2", "IMAD"),
        ("IMAD.X R1, RZ, RZ, ~R2, P0", "IMAD.X"),
        ("IMAD.X R1, RZ, RZ, R2, P0", "IMAD.X"),
    ],
)
def test_a_move_is_no_arithmetic_but_a_negation_and_a_carry_are(row, name):
    head = '\t.section\t.text.example_0,"ax"\n\t//## File "x", line 7\n'
    assert machine_lines(f"{head}  /*0000*/  {row} ;\n") == {"example_0": {7: [name]}}


@needs_tools
def test_native_and_expanded_instructions_are_told_apart(tmp_path):
    d = "{%d0, %d1, %d2, %d3}"
    fp8 = f"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {d}, {{%a0, %a1, %a2, %a3}}, {{%b0, %b1}}, {d};\n"
    example = Example(1, f".reg .b32 %a<4>, %b<2>;\n.reg .f32 %d<4>;\n{fp8}", ("sm_90a",), (), "8.4", "")
    for target, native in (("sm_90a", False), ("sm_120a", True)):
        (machine,) = read_sass({example: ("mma.sync",)}, target, NEEDED[0], disassemblers()[0], tmp_path)[example]
        assert machine.native is native, machine


@needs_tools
def test_instructions_that_share_operands_are_counted_each_alone(tmp_path):
    text = """.reg .b32 %r<9>;
.reg .b64 %d<4>;
and.b32 %r1, %r2, %r3;
add.u64 %d1, %d2, 16;
sub.cc.u32 %r4, %r5, %r6;
neg.s64 %d3, %d2;
st.release.gpu.global.u32 [%d1], %r1;
st.global.u32 [%d1], %r1;
"""
    example = Example(1, text, ("sm_80",), (), "7.0", "")
    found = read_sass({example: ("and", "add", "sub.cc", "neg", "st")}, "sm_80", NEEDED[0], disassemblers()[0], tmp_path)[example]
    machines = {machine.form: machine for machine in found}
    assert {form: machine.native for form, machine in machines.items()} == {
        "and.b32": True, "add.u64": False, "sub.cc.u32": True, "neg.s64": False, "st.release.gpu.global.u32": None, "st.global.u32": None,
    }  # fmt: skip
    assert "MEMBAR.ALL.GPU" in dict(machines["st.release.gpu.global.u32"].opcodes)
    assert dict(machines["st.global.u32"].opcodes) == {"STG.E": 1}


def test_a_sass_listing_is_counted_with_architecture_registers_and_symptoms():
    facts = read_kernel(LISTING, "kernel.sass")
    assert (facts.kernels, facts.parsed) == (("gemm_kernel",), True)
    assert {fact.id: fact.why for fact in facts.instructions}["HMMA.16816.F32.BF16"] == "2 times"
    assert [fact.id for fact in facts.techniques] == ["async-copy", "tensor-core-mma"]
    assert {fact.id for fact in facts.features} == {"cp-async", "mma-sync", "mma-sync-bf16", "ldmatrix"}
    assert [(fact.id, fact.line) for fact in facts.symptoms] == [("register-spill", 10)]
    assert facts.tiles == {"registers_at_least": 32}
    assert "sm_90a" in facts.notes[0]


def test_counted_instructions_are_linked_to_their_pages():
    facts = linked(read_kernel(LISTING, "kernel.sass"), ROOT)
    first = facts.instructions[0]
    assert (first.id, first.why) == ("isa/matrix/mma.sync", "2 x HMMA.16816.F32.BF16")
    assert "isa/async-copy/cp.async" in {fact.id for fact in facts.instructions}


def test_ptx_instructions_are_counted_and_linked_too():
    text = ".version 8.0\n.target sm_90\n.entry k()\n{\ncp.async.cg.shared.global [%r1], [%rd1], 16;\ncp.async.wait_all;\n}\n"
    facts = linked(read_kernel(text, "kernel.ptx"), ROOT)
    assert ("isa/async-copy/cp.async", 5) in {(fact.id, fact.line) for fact in facts.instructions}
    assert ptx_page("no.such.thing", ROOT) is None


def test_the_longest_beginning_of_an_opcode_decides():
    table = {"LDG": {"isa": "a", "what": ""}, "LDG.CONSTANT": {"isa": "b", "what": ""}}
    found = [sass_page(opcode, table) for opcode in ("LDG.E.128.CONSTANT", "LDG.E", "LDGSTS.E")]
    assert [row and row["isa"] for row in found] == ["b", "a", None]


def test_every_page_of_the_opcode_table_exists():
    pages = isa_pages(ROOT)
    assert [name for name, row in sass_table(ROOT).items() if row["isa"] not in pages] == []


def test_every_opcode_of_the_table_was_seen_in_an_example_or_says_where():
    table = sass_table(ROOT)
    examples = [example for entry in read_verified(ROOT)["entries"].values() for example in entry["examples"]]
    opcodes = {name for each in examples for groups in each.get("sass", {}).values() for group in groups for name in group["opcodes"]}
    seen = {id(sass_page(opcode, table)) for opcode in opcodes}
    assert [name for name, row in table.items() if id(row) not in seen and row.get("seen") != "listing"] == []


def test_every_id_that_a_listing_gives_is_in_the_vocabulary():
    terms = load_vocabulary(ROOT).terms
    tables = (("techniques", sass.TECHNIQUES), ("features", sass.FEATURES), ("bottlenecks", sass.SYMPTOMS), ("dtypes", sass.DTYPES))
    assert [word for kind, table in tables for word, _ in table if word not in terms[kind]] == []
