"""Fragment layouts, descriptors, swizzles: as data, by hand-known corners, and against each other."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from indexer.errors import InputError
from retriever.arithmetic import compiled
from retriever.cli_layouts import register
from retriever.descriptors import decode, encode, find_descriptor, load_descriptors, swizzle
from retriever.fragment_names import find
from retriever.fragment_text import layout_json, picture
from retriever.fragments import Layout, all_problems, element, elements, holder, holders, layouts, problems

ROOT = Path(__file__).resolve().parent.parent
FAMILIES = layouts(ROOT)
TABLE = load_descriptors(ROOT)
ROW_BYTES = 32  # of a 16 x 16 tile of 16-bit elements


def one(name: str) -> Layout:
    (found,) = find(name, FAMILIES)
    return found


def strided(shape, stride, position: int) -> int:
    """The layout function of CuTe for (nested) shapes and strides: position to index, first mode fastest."""
    index = 0
    for extent, step in zip(flat(shape), flat(stride)):
        index += position % extent * step
        position //= extent
    return index


def flat(tree) -> list[int]:
    return [tree] if isinstance(tree, int) else [leaf for branch in tree for leaf in flat(branch)]


def test_every_layout_holds_each_element_exactly_as_often_as_it_says():
    assert all_problems(ROOT) == []
    assert len(FAMILIES) > 150


def test_a_layout_with_a_wrong_formula_is_reported(tmp_path):
    (tmp_path / "isa").mkdir()
    text = (ROOT / "isa/layouts.yaml").read_text(encoding="utf-8")
    (tmp_path / "isa/layouts.yaml").write_text(
        text.replace("B: {row: (thread % 4 + 4 * reg)", "B: {row: (thread % 4 + 8 * reg)"), encoding="utf-8"
    )
    (broken,) = find("mma.m16n8k16.f16.B", layouts(tmp_path))
    assert problems(broken) == [
        "mma.sync.m16n8k16.f16.B: 64 elements outside of the tile, the first (16, 0)",
        "mma.sync.m16n8k16.f16.B: 64 elements held by nobody, the first (8, 0)",
    ]


@pytest.mark.parametrize(
    ("name", "thread", "register", "held"),
    [
        ("mma.m16n8k16.bf16.A", 0, 0, [(0, 0), (0, 1)]),
        ("mma.m16n8k16.bf16.A", 0, 1, [(8, 0), (8, 1)]),
        ("mma.m16n8k16.bf16.A", 31, 3, [(15, 14), (15, 15)]),
        ("mma.m16n8k16.bf16.B", 1, 0, [(2, 0), (3, 0)]),
        ("mma.m16n8k16.bf16.B", 31, 1, [(14, 7), (15, 7)]),
        ("mma.m16n8k16.f32.D", 5, 2, [(9, 2)]),
        ("mma.m16n8k16.f16.D", 31, 1, [(15, 6), (15, 7)]),
        ("mma.m8n8k4.f64.A", 31, 0, [(7, 3)]),
        ("mma.m8n8k4.f64.D", 31, 1, [(7, 7)]),
        ("mma.m16n8k16.f64.A", 3, 7, [(8, 15)]),
        ("mma.m16n8k8.tf32.A", 4, 2, [(1, 4)]),
        ("mma.m16n8k4.tf32.B", 9, 0, [(1, 2)]),
        ("mma.m16n8k32.s8.A", 31, 3, [(15, 28), (15, 29), (15, 30), (15, 31)]),
        ("mma.m16n8k32.e4m3.B", 5, 1, [(20, 1), (21, 1), (22, 1), (23, 1)]),
        ("mma.m16n8k64.e2m1.A", 1, 2, [(0, column) for column in range(40, 48)]),
        ("mma.m16n8k256.b1.B", 3, 1, [(row, 0) for row in range(224, 256)]),
        ("wgmma.m64n256k16.f32.D", 127, 127, [(63, 255)]),
        ("wgmma.m64n8k32.e4m3.A", 64, 0, [(32, 0), (32, 1), (32, 2), (32, 3)]),
        ("ldmatrix.m16n16.x1.trans.b8", 1, 1, [(4, 8), (5, 8), (6, 8), (7, 8)]),
        ("stmatrix.m16n8.x1.trans.b8", 1, 0, [(2, 0), (3, 0), (2, 8), (3, 8)]),
        ("tcgen05.ld.32x32b.x32", 17, 5, [(17, 5)]),
        ("tcgen05.ld.16x64b.x2", 3, 1, [(8, 3)]),
        ("tcgen05.ld.16x128b.x1", 31, 1, [(15, 3)]),
        ("tcgen05.ld.16x256b.x1", 1, 3, [(8, 3)]),
        ("tcgen05.ld.32x32b.x2.pack::16b", 7, 1, [(7, 2), (7, 3)]),
        ("tcgen05.mma.m64n64.cta_group::1", 32, 9, [(16, 9)]),
    ],
)
def test_known_corners(name, thread, register, held):
    layout = one(name)
    assert [element(layout, thread, register, part) for part in range(layout.parts)] == held


@pytest.mark.parametrize("name", ["mma.m16n8k16.bf16.A", "mma.m16n8k64.s4.B", "wgmma.m64n24k16.f16.D", "tcgen05.ld.16x256b.x4"])
def test_holder_is_the_inverse_of_element(name):
    layout = one(name)
    for thread, register_, part, row, column in elements(layout):
        assert holder(layout, row, column) == (thread, register_, part * layout.bits, (part + 1) * layout.bits - 1)


def test_ldmatrix_x4_of_a_row_major_tile_gives_the_a_fragment_of_mma():
    load, fragment = one("ldmatrix.m8n8.x4.b16"), one("mma.m16n8k16.bf16.A")
    address = {lane: (lane % 16) * ROW_BYTES + lane // 16 * 16 for lane in range(32)}  # rows 0-7, 8-15, then the same with k + 8
    for thread, register_, part, row, column in elements(load):
        byte = address[row] + 2 * column
        assert (byte // ROW_BYTES, byte % ROW_BYTES // 2) == element(fragment, thread, register_, part)


def test_ldmatrix_x2_of_an_n_by_k_tile_gives_the_b_fragment_and_trans_does_so_for_k_by_n():
    fragment = one("mma.m16n8k16.bf16.B")
    for thread, register_, part, row, column in elements(one("ldmatrix.m8n8.x2.b16")):
        assert (column + 8 * (row // 8), row % 8) == element(fragment, thread, register_, part)
    for thread, register_, part, row, column in elements(one("ldmatrix.m8n8.x2.trans.b16")):
        assert (row, column) == element(fragment, thread, register_, part)


def test_ldmatrix_x4_of_bytes_gives_the_a_fragment_of_eight_bit_mma():
    fragment = one("mma.m16n8k32.s8.A")
    for thread, register_, half, row, column in elements(one("ldmatrix.m8n8.x4.b16")):
        for byte in range(2):
            place = (row % 16, 16 * (row // 16) + 2 * column + byte)
            assert place == element(fragment, thread, register_, 2 * half + byte)


def test_the_transposing_byte_load_of_a_k_by_n_tile_gives_b_of_eight_bit_mma_for_two_n_tiles():
    fragment = one("mma.m16n8k32.s8.B")
    for thread, register_, part, row, column in elements(one("ldmatrix.m16n16.x2.trans.b8")):
        assert element(fragment, thread, register_ // 2, part) == (row, column - 8 * (register_ % 2))


def test_the_transposing_byte_store_takes_d_of_mma_as_it_lies():
    result = one("mma.m16n8k32.f32.D")
    for thread, _, part, row, column in elements(one("stmatrix.m16n8.x1.trans.b8")):
        assert element(result, thread, part) == (column, row)


def test_tcgen05_ld_16x256b_delivers_the_accumulator_of_mma():
    assert list(elements(one("tcgen05.ld.16x256b.x1"))) == list(elements(one("mma.m16n8k16.f32.D")))


@pytest.mark.parametrize("form", ["m8n8.x1.b16", "m8n8.x4.b16", "m8n8.x2.trans.b16"])
def test_stmatrix_writes_back_what_ldmatrix_read(form):
    assert list(elements(one(f"stmatrix.{form}"))) == list(elements(one(f"ldmatrix.{form}")))


def test_movmatrix_transposes():
    before, after = one("movmatrix.m8n8.trans.b16.A"), one("movmatrix.m8n8.trans.b16.D")
    for thread, part in product(range(32), range(2)):
        assert element(after, thread, 0, part) == element(before, thread, 0, part)[::-1]


def test_two_n_tiles_of_d_packed_to_16_bits_are_the_a_of_the_next_product():
    result, next_a = one("mma.m16n8k16.f32.D"), one("mma.m16n8k16.f16.A")
    for thread, tile, register_ in product(range(32), range(2), range(4)):
        row, column = element(result, thread, register_)
        assert element(next_a, thread, 2 * tile + register_ // 2, register_ % 2) == (row, column + 8 * tile)


def test_warp_w_of_a_warpgroup_holds_rows_16w_to_16w_plus_15_of_d():
    layout = one("wgmma.m64n40k16.f32.D")
    for warp in range(4):
        assert {row for thread, _, _, row, _ in elements(layout) if thread // 32 == warp} == set(range(16 * warp, 16 * warp + 16))


def test_scale_factors_have_a_copy_in_each_lane_quarter():
    assert [place.thread for place in holders(one("tcgen05.mma.block_scale"), 33, 2)] == [1, 33, 65, 97]


@pytest.mark.parametrize(
    ("name", "threads", "values", "rows"),
    [  # thread and value modes of CUTLASS 7107b05535f8: mma_traits_sm80.hpp, mma_traits_sm90_gmma.hpp, mma_traits_sm120_sparse.hpp
        ("mma.m16n8k16.f16.A", ((4, 8), (32, 1)), ((2, 2, 2), (16, 8, 128)), 16),
        ("mma.m16n8k8.tf32.A", ((4, 8), (16, 1)), ((2, 2), (8, 64)), 16),
        ("mma.m16n8k16.f32.D", ((4, 8), (32, 1)), ((2, 2), (16, 8)), 16),
        ("wgmma.m64n48k16.f32.D", ((4, 8, 4), (128, 1, 16)), ((2, 2, 6), (64, 8, 512)), 64),
        ("wgmma.m64n8k8.tf32.A", ((4, 8, 4), (64, 1, 16)), ((2, 2), (8, 256)), 64),
        ("wgmma.m64n8k16.f16.A", ((4, 8, 4), (128, 1, 16)), ((2, 2, 2), (64, 8, 512)), 64),
        ("wgmma.m64n8k32.s8.A", ((4, 8, 4), (256, 1, 16)), ((4, 2, 2), (64, 8, 1024)), 64),
    ],
)
def test_register_fragments_are_those_of_cutlass(name, threads, values, rows):
    layout = one(name)
    for thread, register_, part, row, column in elements(layout):
        index = strided(*threads, thread) + strided(*values, register_ * layout.parts + part)
        assert (index % rows, index // rows) == (row, column)


def test_b_of_sparse_fp8_is_that_of_cutlass():
    for thread, register_, part, row, column in elements(one("mma.sp.m16n8k64.e4m3.B")):
        index = strided((4, 8), (32, 1), thread) + strided((4, 4), (8, 128), 4 * register_ + part)
        assert (index // 8, index % 8) == (row, column)


@pytest.mark.parametrize(
    ("name", "threads", "values", "columns"),
    [  # bits of copy_traits_sm100.hpp, divided by the 32 bits of a column
        ("tcgen05.ld.16x64b.x4", ((2, 2, 8), (64, 1, 8)), ((4,), (2,)), 8),
        ("tcgen05.ld.16x128b.x2", ((4, 8), (1, 8)), ((2, 2), (64, 4)), 8),
        ("tcgen05.ld.16x256b.x2", ((4, 8), (2, 16)), ((2, 2, 2), (1, 128, 8)), 16),
        ("tcgen05.ld.16x32bx2.x2", ((16, 2), (4, 2)), ((2,), (1,)), 4),
        ("tcgen05.st.32x32b.x4", ((32,), (4,)), ((4,), (1,)), 4),
    ],
)
def test_tensor_memory_fragments_are_those_of_cutlass(name, threads, values, columns):
    for thread, register_, _, row, column in elements(one(name)):
        index = strided(*threads, thread) + strided(*values, register_)
        assert divmod(index, columns) == (row, column)


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
            ["mma.sync.m16n8k16.bf16.A", "mma.sync.m16n8k16.bf16.B", "mma.sync.m16n8k16.f32.D"],
        ),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", ["ldmatrix.m8n8.x4.b16.D"]),
        ("wgmma.m64nNk16.f32.D", ["wgmma.mma_async.m64n256k16.f32.D"]),
        ("mma.m16n8k16.bf16.C", []),
        ("mma.m16n8k16.f32.C", ["mma.sync.m16n8k16.f32.D"]),
    ],
)
def test_layouts_are_found_by_parts_and_by_the_spelled_instruction(asked, names):
    if names:
        assert [layout.name for layout in find(asked, FAMILIES)] == names
    else:
        with pytest.raises(InputError, match=r"nearest: mma\.sync\.m16n8k16"):
            find(asked, FAMILIES)


def test_errors_name_the_limits():
    layout = one("mma.m16n8k16.bf16.A")
    with pytest.raises(InputError, match=r"the tile is 16 x 16; there is no element 16,0"):
        holder(layout, 16, 0)
    with pytest.raises(InputError, match=r"register is 0 to 3, not 4"):
        element(layout, 0, 4)
    with pytest.raises(InputError, match=r"thread 16 holds nothing"):
        element(one("tcgen05.mma.m64n64.cta_group::1"), 16, 0)
    with pytest.raises(InputError, match=r"N is 8 to 256 in steps of 8, not 12"):
        find("wgmma.m64n12k16.f32.D", FAMILIES)
    with pytest.raises(InputError, match=r"begins with one of ldmatrix"):
        find("hmma.m16n8k16", FAMILIES)


def test_a_picture_names_thread_and_register_of_each_run():
    lines = picture(one("mma.m16n8k16.bf16.A")).splitlines()
    assert len(lines) == 17
    assert lines[0].split() == ["row", "\\", "column", "0-1", "2-3", "4-5", "6-7", "8-9", "10-11", "12-13", "14-15"]
    assert lines[-1].split() == ["15", "T28:r1", "T29:r1", "T30:r1", "T31:r1", "T28:r3", "T29:r3", "T30:r3", "T31:r3"]


def test_the_json_of_a_layout_lists_every_element_by_thread_register_part():
    form = layout_json(one("mma.m8n8k4.f64.D"))
    assert form["threads"] == 32 and form["elements"]["rows"][:4] == [0, 0, 0, 0] and form["elements"]["columns"][:4] == [0, 1, 2, 3]


@pytest.mark.parametrize(("text", "complaint"), [("thread ** 2", "Pow"), ("open(1)", "Call"), ("lane", "unknown name"), ("1.5", "integer")])
def test_expressions_are_integer_arithmetic_only(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        compiled(text, ("thread",))


@pytest.mark.parametrize(
    ("name", "fields", "value"),
    [
        ("tcgen05-idesc.f16", {"a": "bf16", "b": "bf16", "m": 128, "n": 256}, 0x08400490),
        ("tcgen05-idesc.f16", {"a": "f16", "b": "f16", "m": 128, "n": 128}, 0x08200010),
        ("tcgen05-idesc.f16", {"a": "bf16", "b": "bf16", "m": 128, "n": 96}, 0x08180490),
        ("tcgen05-idesc.f16", {"a": "bf16", "b": "bf16", "m": 256, "n": 192}, 0x10300490),
        ("tcgen05-idesc.f8f6f4", {"a": "e4m3", "b": "e4m3", "m": 128, "n": 128}, 0x08200010),
        ("tcgen05-idesc.i8", {"a": "s8", "b": "s8", "m": 128, "n": 128}, 0x082004A0),
        ("tcgen05-idesc.mxf8f6f4", {"a": "e4m3", "b": "e4m3", "m": 128, "n": 128}, 0x08A00000),
        ("tcgen05-idesc.mxf8f6f4", {"a": "e4m3", "b": "e4m3", "m": 128, "n": 128, "scale_id_a": 1, "scale_id_b": 1}, 0x28A00010),
        ("tcgen05-idesc.mxf4nvf4", {"scale": "ue4m3", "m": 128, "n": 128}, 0x08200480),
        ("wgmma-smem", {"sbo": 1024, "swizzle": "128B"}, 0x4000004000010000),
        ("tcgen05-smem", {"sbo": 1024, "swizzle": "128B"}, 0x4000404000010000),
        ("tcgen05-smem", {"sbo": 128, "lbo": 0, "swizzle": "none"}, 0x0000400800000000),
        ("tcgen05-zero-column-mask", {"skip_span": 2, "use_span": 3}, 0x0003028000000000),
    ],
)
def test_descriptors_encode_to_the_values_of_the_pages(name, fields, value):
    descriptor = find_descriptor(name, TABLE)
    assert encode(descriptor, fields) == value
    page = (ROOT / f"{descriptor.page}.md").read_text(encoding="utf-8")
    pages = page + (ROOT / "isa/tcgen05/matrix-shapes.md").read_text(encoding="utf-8")
    assert f"{value:#0{descriptor.width // 4 + 2}x}".lower() in pages.lower() or value == 0x28A00010


@pytest.mark.parametrize("kind", ["128B", "64B", "32B"])
def test_only_bit_46_tells_a_tcgen05_descriptor_from_one_of_wgmma(kind):
    fields = {"address": 4096, "sbo": 1024, "swizzle": kind}
    assert encode(TABLE.descriptors["wgmma-smem"], fields) ^ encode(TABLE.descriptors["tcgen05-smem"], fields) == 1 << 46


@given(st.data(), st.sampled_from(sorted(TABLE.descriptors)))
def test_decoding_gives_back_what_was_encoded(data, name):
    descriptor = TABLE.descriptors[name]
    fields = {}
    for key, field in descriptor.fields.items():
        if field.always is None:
            numbers = (
                st.sampled_from(field.legal())
                if field.allowed
                else st.integers(0, field.largest).map(lambda code, f=field: code << f.shift)
            )
            fields[key] = data.draw(st.sampled_from(sorted(field.values)) if field.values else numbers)
    decoded = decode(descriptor, encode(descriptor, fields))
    assert decoded.problems == () and {key: decoded.fields[key] for key in fields} == fields


def test_each_bad_field_has_its_own_complaint():
    with pytest.raises(InputError) as caught:
        encode(TABLE.descriptors["wgmma-smem"], {"sbo": 1000, "swizzle": "96B", "swizle": 1})
    assert str(caught.value).count(";") >= 2
    assert "no field 'swizle'; did you mean \"swizzle\"?" in str(caught.value)
    assert "sbo is 0 to 262128, a multiple of 16, not 1000" in str(caught.value)
    assert "swizzle is one of none, 128B, 64B, 32B, not 96B" in str(caught.value)


def test_a_wgmma_descriptor_given_to_tcgen05_is_told():
    assert decode(TABLE.descriptors["tcgen05-smem"], 0x4000004000010000).problems == ("constant is always 1, not 0 (bits 46-48)",)
    assert decode(TABLE.descriptors["tcgen05-idesc.f16"], 0x08400490 | 1 << 6).problems == ("bit 6 must be 0",)


@pytest.mark.parametrize("name", list(TABLE.swizzles))
def test_a_swizzle_is_its_own_inverse_and_permutes_its_repeat(name):
    mode = TABLE.swizzles[name]
    moved = [swizzle(mode, offset) for offset in range(mode.repeat)]
    assert sorted(moved) == list(range(mode.repeat))
    assert [swizzle(mode, offset) for offset in moved] == list(range(mode.repeat))
    assert swizzle(mode, mode.repeat * 5 + 3) == mode.repeat * 5 + 3 or name == "none"


@pytest.mark.parametrize(("name", "chunks"), [("32B", 2), ("64B", 4), ("128B", 8)])
def test_a_swizzle_xors_the_chunk_with_the_line(name, chunks):
    mode = TABLE.swizzles[name]
    for line, chunk in product(range(mode.repeat // 128), range(8)):
        turn = line * chunks // (mode.repeat // 128)
        assert swizzle(mode, 128 * line + 16 * chunk) == 128 * line + 16 * (chunk ^ turn)


def test_rows_of_128_bytes_read_by_column_touch_all_bank_groups_under_128b():
    assert {swizzle(TABLE.swizzles["128B"], 128 * row) % 128 // 16 for row in range(8)} == set(range(8))


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    register(made)
    return made


def test_the_commands_answer(app):
    run = CliRunner().invoke
    assert run(app, ["layout", "mma.m16n8k16.bf16.A", "--element", "9,3"]).stdout == (
        "mma.sync.m16n8k16.bf16.A element (9, 3): lane 5, register 1, bits 16-31\n"
    )
    held = json.loads(run(app, ["layout", "mma.m16n8k16.bf16.A", "--lane", "31", "--json"]).stdout)["layouts"][0]["held"]
    assert held[3] == [[15, 14], [15, 15]]
    assert run(app, ["descriptor", "tcgen05-idesc.f16", "a=bf16", "b=bf16", "m=128", "n=256"]).stdout.startswith(
        "tcgen05-idesc.f16 0x08400490\n"
    )
    wrong = run(app, ["descriptor", "tcgen05-smem", "0x4000004000010000"])
    assert wrong.exit_code == 1 and "wrong: constant is always 1, not 0 (bits 46-48)" in wrong.stdout
    assert run(app, ["swizzle", "128B", "0x280"]).stdout == "0x280 -> 0x2d0\n"
    for command in ("layout", "descriptor", "swizzle"):
        assert "Example: warplore isa" in run(app, [command, "--help"]).stdout
