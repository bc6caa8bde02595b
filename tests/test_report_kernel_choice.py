"""`--kernel-name` on template instances: by readable arguments, by the mangled name, by a regular expression."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.errors import InputError
from retriever.reports.choose import choices, chosen
from retriever.reports.kernel_names import instance_name
from retriever.reports.profile import Profile, Report
from retriever.reports.read import read_report
from retriever.typed_facts import Typed, with_typed

ROOT = Path(__file__).parent.parent
LOG = "".join(
    f"ptxas info    : Compiling entry function '{name}' for 'sm_90'\n"
    f"ptxas info    : Function properties for {name}\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    f"ptxas info    : Used {registers} registers, used 1 barriers\n"
    for name, registers in (
        ("_Z6reduceILi128EfEvPKT0_PS1_i", 24),
        ("_Z6reduceILi256EfEvPKT0_PS1_i", 32),
        ("_Z6reduceILi256E6__halfEvPKT0_PS1_i", 40),
        ("_Z5scalePfi", 10),
    )
)
REGISTERS = "launch__registers_per_thread"


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_Z6reduceILi256EfEvPKT0_PS1_i", "reduce<256, float>"),
        ("_ZN4demo5heavyILin3ELb1EPKfEEvv", "demo::heavy<-3, true, float const*>"),
        ("_Z1kIJfdEN3cub6PolicyIiLj4EEEEvv", "k<float, double, cub::Policy<int, 4>>"),
        ("_Z1kILN2ns4ModeE2EEvv", "k<(ns::Mode)2>"),
        ("_Z1kIPFvvEEvv", "k"),
        ("_Z1kILi256", "k"),
        ("_Z5scalePfi", "scale"),
        ("plain", "plain"),
    ],
)
def test_template_arguments_of_a_mangled_name_are_read_or_left_away(mangled: str, name: str) -> None:
    assert instance_name(mangled) == name


@pytest.mark.parametrize(
    ("asked", "registers"),
    [
        ("reduce", [24, 32, 40]),
        ("reduce<256, float>", [32]),
        ("REDUCE<256", [32, 40]),
        ("ILi256E6__half", [40]),
        ("reduce<(128|256), float>", [24, 32]),
        ("^reduce<.*float", [24, 32]),
        ("scale", [10]),
        (None, [24, 32, 40, 10]),
        ("nothing", []),
        ("nothing(", []),
    ],
)
def test_an_instance_is_chosen_by_a_part_of_either_name_or_a_pattern(asked: str | None, registers: list[int]) -> None:
    assert [profile.value(REGISTERS) for profile in chosen(read_report(LOG).profiles, asked)] == registers


def test_a_name_in_the_kernels_own_name_keeps_the_ones_that_have_it_in_their_arguments_out() -> None:
    profiles = (Profile("scale", "scale(half *)"), Profile("half_sum", "half_sum(float *)"))
    assert [profile.kernel for profile in chosen(profiles, "half")] == ["half_sum"]


def test_typed_values_for_several_instances_list_them_and_one_can_be_chosen() -> None:
    report = read_report(LOG)
    with pytest.raises(InputError, match=r"has 3: reduce<128, float>, reduce<256, float>, reduce<256, __half>; choose with --kernel-name"):
        with_typed(report, Typed(block="256"), ROOT, "reduce")
    typed = with_typed(report, Typed(block="256"), ROOT, "reduce<256, float>")
    assert [profile.kernel for profile in typed.profiles if profile.block] == ["reduce<256, float>"]


def test_choices_tell_equal_names_apart_by_what_the_compiler_calls_them() -> None:
    names = ("_Z1kIPFvvEEvv", "_Z1kIPFvfEEvv")
    assert choices(Profile("k", name) for name in names) == ", ".join(names)
    assert choices(Profile(f"k{n}") for n in range(15)).endswith("k11 and 3 more")


def test_resources_of_an_instance_go_to_the_launch_of_the_same_arguments(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text(LOG, encoding="utf-8")
    launch = Profile("void reduce<(int)128, float>", compute_capability="9.0", attributes={"input__form": "nsys stats"})
    typed = with_typed(Report("trace", "nsys", (launch,)), Typed(ptxas=str(log)), ROOT)
    assert typed.profiles[0].value(REGISTERS) == 24
    other = with_typed(Report("trace", "nsys", (Profile("reduce", attributes={"input__form": "nsys stats"}),)), Typed(ptxas=str(log)), ROOT)
    assert "3 kernels fit reduce (reduce<128, float>, " in other.notes[-1]
