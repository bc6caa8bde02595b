"""The probes' models against values worked out by hand, and the probes against their pages and their record."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from kernel_wiki.probes import (
    asynchronous,
    build,
    compare,
    convert,
    families,
    integer,
    logic,
    matrix,
    numbers,
    operands,
    record,
    warp,
    wgmma,
)
from kernel_wiki.probes import float as float_family
from kernel_wiki.probes.chains import chain
from kernel_wiki.probes.evaluate import case_inputs, case_outputs, probe_hash
from kernel_wiki.probes.numbers import BF16, E4M3, E5M2, F16, F32, decode, encode
from kernel_wiki.probes.probe import Kernel, Probe, Timing, symbol
from kernel_wiki.probes.source import function_source
from retriever.isa_executed import executed_json, executed_text

ROOT = Path(__file__).resolve().parent.parent
ALL = [(family, each) for family, probes in families.load().items() for each in probes]
PROBES = {each.name: each for _, each in ALL}
INF, NAN = math.inf, math.nan


def outcome(name: str, *operands_: int) -> int:
    """What a probe's model says, masked to its first output."""
    probe = PROBES[name]
    answer = probe.model(*operands_)
    return (answer[0] if isinstance(answer, tuple) else answer) & ((1 << operands.TYPES[probe.outs.split()[0]].width) - 1)


@pytest.mark.parametrize(
    ("name", "inputs", "expected"),
    [
        ("add.sat.s32", (0x7FFFFFFF, 1), 0x7FFFFFFF),
        ("add.sat.s32", (0x80000000, 0xFFFFFFFF), 0x80000000),
        ("mul.hi.s32", (0x80000000, 2), 0xFFFFFFFF),
        ("mul.wide.s32", (0x80000000, 0x80000000), 0x4000000000000000),
        ("mul24.hi.s32", (0x800000, 0x800000), 0x40000000),
        ("mad.hi.sat.s32", (0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF), 0x7FFFFFFF),
        ("abs.s32", (0x80000000,), 0x80000000),
        ("div.s32", (0xFFFFFFF9, 2), 0xFFFFFFFD),
        ("rem.s32", (0xFFFFFFF9, 2), 0xFFFFFFFF),
        ("bfe.u32", (0x12345678, 8, 8), 0x56),
        ("bfe.s32", (0x00008000, 8, 8), 0xFFFFFF80),
        ("bfe.s32", (0x80000000, 28, 8), 0xFFFFFFF8),
        ("bfe.s32", (0x80000000, 40, 4), 0xFFFFFFFF),
        ("bfe.s32", (0x80000000, 31, 0), 0),
        ("bfi.b32", (0xFF, 0, 28, 8), 0xF0000000),
        ("bfind.s32", (0xFFFFFFFE,), 0),
        ("bfind.s32", (0xFFFFFFFF,), 0xFFFFFFFF),
        ("bfind.shiftamt.u32", (1,), 31),
        ("fns.b32", (0b10110, 0, 2), 2),
        ("fns.b32", (0b10110, 4, 0xFFFFFFFE), 2),
        ("fns.b32", (0b10110, 0, 0), 0xFFFFFFFF),
        ("szext.wrap.s32", (0xFF, 8), 0xFFFFFFFF),
        ("szext.clamp.u32", (0xDEADBEEF, 99), 0xDEADBEEF),
        ("szext.wrap.u32", (0xDEADBEEF, 32), 0),
        ("bmsk.clamp.b32", (30, 5), 0xC0000000),
        ("bmsk.clamp.b32", (32, 5), 0),
        ("bmsk.wrap.b32", (33, 2), 0b110),
        ("dp4a.s32.s32", (0x800000FF, 0x7F000002, 10), 10 - 128 * 127 - 2),
        ("dp2a.hi.u32.u32", (0x00020003, 0x05040000, 1), 3 * 4 + 2 * 5 + 1),
        ("min.relu.s16x2", (0xFFFF0005, 0x00020003), 0x00000003),
        ("shl.b32", (1, 32), 0),
        ("shr.s32", (0x80000000, 99), 0xFFFFFFFF),
        ("shf.l.wrap.b32", (0x80000000, 1, 33), 3),
        ("shf.l.clamp.b32", (0xAAAAAAAA, 0x55555555, 77), 0xAAAAAAAA),
        ("shf.r.clamp.b32", (0xAAAAAAAA, 0x55555555, 32), 0x55555555),
        ("lop3.b32 0xca", (0xF0F0F0F0, 0xFFFFFFFF, 0), 0xF0F0F0F0),
        ("prmt.b32", (0x33221100, 0x77665544, 0x7531), 0x77553311),
        ("prmt.b32", (0x33228000, 0, 0x9888), 0xFF000000),
        ("prmt.b32.f4e", (0x33221100, 0x77665544, 1), 0x44332211),
        ("prmt.b32.b4e", (0x33221100, 0x77665544, 1), 0x66770011),
        ("prmt.b32.ecr", (0x33221100, 0, 2), 0x22221100),
        ("setp.lt.f32", (0x7FC00000, 0), 0),
        ("setp.ltu.f32", (0x7FC00000, 0), 1),
        ("setp.eq.f32", (0x80000000, 0), 1),
        ("slct.b32.f32", (1, 2, 0x80000000), 1),
        ("add.rm.f32", (0x3F800000, 0xBF800000), 0x80000000),
        ("add.rn.f32", (0x4B800000, 0x3F800000), 0x4B800000),
        ("add.rp.f32", (0x4B800000, 0x3F800000), 0x4B800001),
        ("fma.rn.f32", (0x3F800001, 0x3F800001, 0xBF800002), 0x28800000),
        ("fma.rz.f32", (0x7F7FFFFF, 0x40000000, 0), 0x7F7FFFFF),
        ("div.rn.f32", (0x3F800000, 0x40400000), 0x3EAAAAAB),
        ("sqrt.rn.f32", (0x40000000,), 0x3FB504F3),
        ("max.f32", (0x80000000, 0), 0),
        ("min.f32", (0x7FC00000, 0x3F800000), 0x3F800000),
        ("max.xorsign.abs.f32", (0xC0000000, 0x3F800000), 0xC0000000),
        ("copysign.f32", (0x80000000, 0x3F800000), 0xBF800000),
        ("testp.normal.f32", (0,), 1),
        ("testp.subnormal.f32", (1,), 1),
        ("cvt.rn.bf16.f32", (0x3F808000,), 0x3F80),
        ("cvt.rn.bf16.f32", (0x3F818000,), 0x3F82),
        ("cvt.rn.bf16.f32", (0x7F7FFFFF,), 0x7F80),
        ("cvt.rz.bf16.f32", (0x7F7FFFFF,), 0x7F7F),
        ("cvt.rn.f16.f32", (0x477FF000,), 0x7C00),
        ("cvt.rn.f16.f32", (0x477FEFFF,), 0x7BFF),
        ("cvt.rna.tf32.f32", (0x3F801000,), 0x3F802000),
        ("cvt.rn.satfinite.e4m3x2.f32", (0x43E80001, 0xC7000000), 0x7EFE),
        ("cvt.rn.satfinite.e5m2x2.f32", (0x3F800000, 0x7F800000), 0x3C7B),
        ("cvt.rn.f16x2.e4m3x2", (0x7F01,), 0x7FFF1800),
        ("cvt.rni.s32.f32", (0x40200000,), 2),
        ("cvt.rmi.s32.f32", (0xC0200000,), 0xFFFFFFFD),
        ("cvt.rzi.u32.f32", (0xBF800000,), 0),
        ("cvt.rni.s32.f32", (0x7FC00000,), 0),
        ("cvt.rn.f32.s32", (0x7FFFFFFF,), 0x4F000000),
        ("cvt.rni.f32.f32", (0xBF000000,), 0x80000000),
        ("cvt.pack.sat.u8.s32.b32", (300, 0xFFFFFFFF, 0x1234ABCD), 0xABCDFF00),
        ("fma.rn.relu.bf16x2", (0x3F80BF80, 0x3F803F80, 0), 0x3F800000),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_model_gives_the_value_worked_out_by_hand(name: str, inputs: tuple[int, ...], expected: int) -> None:
    assert hex(outcome(name, *inputs)) == hex(expected & 0xFFFFFFFF if expected < 0 else expected)


def test_a_carry_runs_through_both_words() -> None:
    assert PROBES["add.cc.u64 addc.u64"].model(2**64 - 1, 0, 1, 0) == (0, 1)
    assert PROBES["sub.cc.u64 subc.u64"].model(0, 1, 1, 0) == (2**64 - 1, 0)


def test_rounding_is_to_even_on_ties_and_away_where_asked() -> None:
    tie = Fraction(1) + Fraction(1, 2**11)
    assert encode(F16, tie) == 0x3C00
    assert encode(F16, tie, "rna") == 0x3C01
    assert encode(F16, -tie, "rm") == 0xBC01
    assert encode(F16, Fraction(65520)) == 0x7C00
    assert encode(E4M3, Fraction(464), satfinite=True) == 0x7E
    assert encode(BF16, Fraction(1, 2**133)) == 1
    assert encode(E5M2, NAN) == 0x7F


@pytest.mark.parametrize("form", [F16, BF16, E4M3, E5M2], ids=["f16", "bf16", "e4m3", "e5m2"])
def test_every_pattern_survives_decoding_and_encoding(form: numbers.Format) -> None:
    patterns = [bits for bits in range(1 << form.width) if not form.is_nan(bits)]
    assert [encode(form, decode(form, bits)) for bits in patterns] == patterns


def test_the_host_agrees_on_float32_and_float16() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 200)).astype(np.float32)
    bits = lambda values: values.view(np.uint32).tolist()  # noqa: E731
    assert [outcome("add.rn.f32", x, y) for x, y in zip(bits(a), bits(b))] == bits(a + b)
    assert [outcome("div.rn.f32", x, y) for x, y in zip(bits(a), bits(b))] == bits(a / b)
    assert [outcome("cvt.rn.f16.f32", x) for x in bits(a)] == a.astype(np.float16).view(np.uint16).tolist()


def test_a_shuffle_stays_in_its_segment() -> None:
    lanes = [(lane * 10, 1) for lane in range(32)]
    answer = warp.shuffle("down", 0x1807)(lanes)
    assert answer[0] == (10, 1)
    assert answer[7] == (70, 0)
    assert answer[8] == (90, 1)


def test_the_fragments_of_a_product_hold_every_element_once() -> None:
    for shape in (matrix.K16, matrix.K8, matrix.K32):
        for where, registers, rows, columns in ((shape.a, shape.a_registers, 16, shape.k), (shape.b, shape.b_registers, shape.k, 8)):
            spots = Counter()
            for register in range(registers):
                for element in range(shape.per):
                    spots.update(zip(*(each.tolist() for each in where(register, element))))
            assert spots == Counter({(row, column): 1 for row in range(rows) for column in range(columns)})


def test_stmatrix_undoes_ldmatrix() -> None:
    tiles = warp.words(128, "tiles")
    for transposed in (False, True):
        assert (matrix.stmatrix(matrix.ldmatrix(tiles, transposed), transposed) == tiles).all()


def test_the_swizzle_moves_the_second_line_by_one_chunk() -> None:
    tensor = np.arange(48 * 64, dtype=np.uint32).reshape(48, 64)
    plain, swizzled = asynchronous.swizzled_load("none")(tensor), asynchronous.swizzled_load("128B")(tensor)
    assert plain[:4].tolist() == tensor[40, 48:52].tolist()
    assert swizzled[:4].tolist() == tensor[40, 48:52].tolist()
    assert swizzled[32 + 4 : 32 + 8].tolist() == tensor[41, 48:52].tolist()  # chunk 0 of line 1 lies at chunk 1


def test_an_operand_image_of_wgmma_has_its_rows_where_the_descriptor_says() -> None:
    patterns = np.arange(64 * 16).reshape(64, 16)
    halves = wgmma.image(patterns, 2, "none").view(np.uint16)
    assert halves[:8].tolist() == patterns[0, :8].tolist()
    assert halves[64:72].tolist() == patterns[0, 8:].tolist()  # leading byte offset 128
    assert halves[128:136].tolist() == patterns[8, :8].tolist()  # stride byte offset 256


def test_a_chain_that_the_compiler_folds_is_an_error() -> None:
    (timing, _) = chain("isa/math/fma", "fma", "fma.rn.f32 $x, $x, $a, $b;", "FFMA", count=4)
    read = "CS2R R2, SR_CLOCKLO"
    assert build.check_timing(timing, [read, *["FFMA R0, R0, R1, R2"] * 4, read, read, read]) == "FFMA"
    with pytest.raises(build.FoldedError, match="3 of /FFMA/"):
        build.check_timing(timing, [read, *["FFMA R0, R0, R1, R2"] * 3, read, "FFMA R0, R0, R1, R2", read, read])


@pytest.mark.skipif(shutil.which("nvcc") is None or build.find_cuobjdump() is None, reason="needs nvcc and cuobjdump")
def test_a_chain_that_ptxas_folds_is_reported_and_a_real_one_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPLORE_KERNEL_CACHE", str(tmp_path))
    real = chain("isa/math/prmt", "prmt", "prmt.b32 $x, $x, $a, $b;", "PRMT", count=16)
    folded = chain("isa/logic/xor", "xor", "xor.b32 $x, $x, $a;", "LOP3", count=16, rate=False)
    (unit,) = build.compile_all({"logic": [*real, *folded, PROBES["xor.b32"]]}, "sm_90a", 1)[:1]
    assert list(unit.folded) == ["xor latency"]
    assert unit.opcodes == {"prmt latency": "PRMT", "prmt rate": "PRMT"}


def test_names_and_symbols_are_unique() -> None:
    assert len(PROBES) == len(ALL)
    for family in families.FAMILIES:
        symbols = [symbol(each) for name, each in ALL if name == family]
        assert len(set(symbols)) == len(symbols)


def test_every_probe_names_a_page_that_exists() -> None:
    missing = {each.isa for _, each in ALL if not (ROOT / f"{each.isa}.md").is_file()}
    assert not missing


def test_more_instructions_are_executed_than_were_asked_for() -> None:
    executed = {each.isa for _, each in ALL if not isinstance(each, Timing)}
    assert len(executed) >= 80


@pytest.mark.parametrize("family", families.FAMILIES)
def test_every_model_answers_all_its_cases(family: str) -> None:
    for each in families.load()[family]:
        if isinstance(each, Probe):
            rows = case_inputs(each)
            assert len(rows) and len(case_outputs(each, rows)) == len(rows), each.name
        elif isinstance(each, Kernel):
            assert each.model(*each.inputs()).size == each.out[0], each.name
        assert symbol(each) in function_source(each)


def test_approximations_are_compared_with_something_finite() -> None:
    for each in float_family.PROBES:
        if isinstance(each, Probe) and each.approximate:
            assert np.isfinite(case_outputs(each, case_inputs(each))).all(), each.name


def test_models_of_saturation_and_comparison_know_nan() -> None:
    assert encode(F32, numbers.saturate(NAN)) == 0
    assert compare.float_compare("nan")(0x7FC00000, 0) == 1
    assert numbers.smallest(NAN, Fraction(1)) == 1
    assert math.isnan(numbers.smallest(NAN, Fraction(1), keep_nan=True))
    assert numbers.mul(INF, 0.0) != numbers.mul(INF, 0.0)
    assert convert.relu(0xBF800000, BF16) == 0
    assert logic.prmt(0, 0, 0) == integer.bmsk(0, 0, True) == 0


def test_the_record_is_of_the_probes_as_they_stand() -> None:
    path = ROOT / record.EXECUTED
    if not path.is_file():
        pytest.skip("nothing was executed yet")
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert record.stale(kept, families.load()) == []
    assert record.failures(kept) == []


def test_listing_the_probes_imports_neither_torch_nor_cuda() -> None:
    heavy = "{'torch', 'cuda', 'pydantic'}"
    code = f"import sys; from kernel_wiki.probes import families; families.load(); print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_a_page_shows_what_was_executed(tmp_path: Path) -> None:
    facts = {
        "gpu": "NVIDIA H200",
        "driver": "1",
        "toolkit": "nvcc 13.0",
        "target": "sm_90a",
        "date": "2026-11-29",
        "clocks": {"sm_mhz": 1980.0},
    }
    fma, timing = PROBES["fma.rn.f32"], PROBES["fma.rn.f32 latency"]
    results = {
        fma.name: {"verdict": "agrees", "cases": 14},
        timing.name: {"verdict": "measured", "latency_cycles": 4.2, "method": "a chain", "sass": "FFMA"},
    }
    record.write(record.page({"float": [fma, timing]}, results, facts), tmp_path / record.EXECUTED)
    text = executed_text(tmp_path, "isa/math/fma")
    assert "Executed on NVIDIA H200, 2026-11-29" in text
    assert "14 cases agree with a plain model: `fma.rn.f32`." in text
    assert "| `fma.rn.f32 latency` | 4.2 cycles | FFMA | a chain |" in text
    assert executed_text(tmp_path, "isa/math/max") == ""
    assert executed_json(tmp_path, "isa/math/fma")["probes"][0]["hash"] == probe_hash(fma)
    assert record.stale(json.loads((tmp_path / record.EXECUTED).read_text(encoding="utf-8")), {"float": [fma, timing]}) == []


def test_where_nothing_was_executed_nothing_is_said(tmp_path: Path) -> None:
    assert executed_text(tmp_path, "isa/math/fma") == ""
    assert executed_json(tmp_path, "isa/math/fma") is None
