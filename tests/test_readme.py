"""The README tells the truth: its commands exist, CI runs its test command, its counts are the corpus's."""

from __future__ import annotations

import re

from typer.main import get_command

from indexer.corpus import load_corpus
from indexer.gpus import load_gpus
from kernel_wiki.harness import discover
from retriever import cli
from tests.corpora import REPOSITORY

ISA = "verify|diff|unused|import|layout|descriptor|swizzle"
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def commands(group, trail=()):
    for name, command in getattr(group, "commands", {}).items():
        if hasattr(command, "commands"):
            yield from commands(command, (*trail, name))
        elif not command.hidden:
            yield " ".join((*trail, name))


def test_every_command_is_in_the_readme_and_every_command_named_there_exists() -> None:
    root = get_command(cli.app)
    known = set(commands(root))
    named = {match.strip() for match in re.findall(rf"warplore ((?:isa (?:{ISA})|index \w+|zoo \w+|skills \w+|[a-z]+))", README)}
    assert known <= named
    assert named <= known | {"isa", "index", "zoo", "skills"}


def test_ci_runs_the_readme_s_test_command() -> None:
    blocks = re.findall(r"```sh\n(.+?)\n```", README, re.DOTALL)
    assert len(blocks) == 2 and "pytest" in blocks[1]
    assert blocks[1] in (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_the_first_command_names_files_that_the_repository_ships() -> None:
    command = re.findall(r"```sh\n(.+?)\n```", README, re.DOTALL)[0]
    for option in ("--kernel", "--ncu"):
        path = re.search(rf"{option} (\S+)", command)
        assert path and (REPOSITORY / path[1]).is_file()


def test_the_counts_are_those_of_the_corpus() -> None:
    corpus = load_corpus(REPOSITORY)
    count = {
        kind: sum(record.kind == kind for record in corpus.records.values())
        for kind in ("attempt", "technique", "hardware", "guide", "isa", "pr", "skill")
    }
    zoo = REPOSITORY / "kernel_wiki" / "zoo"
    implementations = [entry for operator in discover.operators(zoo) for entry in discover.implementations(operator, zoo)]
    wrong = [entry for operator in discover.operators(zoo) for entry in discover.wrong_variants(operator, zoo)]
    for phrase in (
        f"{len(discover.operators(zoo))} operators, {len(implementations)} implementations, {len(wrong)} wrong variants",
        f"{count['technique']} techniques, {count['hardware']} hardware pages",
        f"{count['attempt']} failed attempts",
        f"{count['guide']} guides",
        f"{len(load_gpus(REPOSITORY).gpus)} products",
        f"{count['isa']} instructions",
        f"{count['pr']} changes",
        f"{count['skill']} skills",
        f"{len(list((REPOSITORY / 'kernel_wiki' / 'reports').glob('*/raw.csv')))} kernels with their reports",
    ):
        assert phrase in README, phrase
