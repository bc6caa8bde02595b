"""Many examples judged in few runs of an assembler.

Starting ptxas costs more than a small example does, and one run reports the errors of a whole module with their lines. So all examples
of one target and one `.version` become entries of one module: those with an error line are refused by it, and the others are tried again
until a module of them is accepted, since some errors show only in later phases. What a batch cannot tell (a text at module level, a
syntax error, which ends the reading, an advisory code, which names no entry) is asked alone. The verdicts are those of lone runs.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable
from pathlib import Path

from indexer.isa_examples import Example
from retriever.assemblers import Assembler, Verdict

ACCEPTED = Verdict(True, (), ())
_ENTRY_NUMBER = re.compile(r"\bexample_\d+\b")


class Batches:
    """Judges groups of examples with one assembler. It remembers which examples have to be asked alone."""

    def __init__(self, assembler: Assembler, folder: Path):
        self.assembler = assembler
        self.folder = folder
        self._starts: list[str] = []  # appended to from several threads, where a number would lose counts
        self._lone: set[Example] = set()

    @property
    def runs(self) -> int:
        """How often the assembler was started."""
        return len(self._starts)

    def judge(self, examples: Collection[Example], target: str, version: str) -> dict[Example, Verdict]:
        """The verdict on each example in a module of `version` for `target`."""
        together = [example for example in examples if example not in self._lone and not example.whole_module]
        verdicts = {example: self._alone(example, target, version) for example in examples if example not in together}
        while together:
            found, together = self._round(together, target, version)
            verdicts |= found
        return verdicts

    def _round(self, examples: list[Example], target: str, version: str) -> tuple[dict[Example, Verdict], list[Example]]:
        """What one run tells, and the examples that it tells nothing about."""
        if len(examples) == 1:
            return {examples[0]: self._alone(examples[0], target, version)}, []
        module, ends = batch_module(examples, target, version)
        self._starts.append(target)
        answer = self.assembler.answer(module, target, self.folder)
        if answer.accepted and not answer.codes:
            return dict.fromkeys(examples, ACCEPTED), []
        errors: dict[Example, list[str]] = {}
        for line, message in answer.errors:
            if line <= ends[-1] and line != answer.parse_stop:
                errors.setdefault(examples[bisect_left(ends, line)], []).append(_ENTRY_NUMBER.sub("example", message))
        verdicts = {example: Verdict(False, tuple(found), ()) for example, found in errors.items()}
        if answer.parse_stop and answer.parse_stop <= ends[-1]:
            stopped = examples[bisect_left(ends, answer.parse_stop)]
            self._lone.add(stopped)
            verdicts[stopped] = self._alone(stopped, target, version)
        if not verdicts:
            half = len(examples) // 2
            verdicts = self.judge(examples[:half], target, version) | self.judge(examples[half:], target, version)
        return verdicts, [example for example in examples if example not in verdicts]

    def _alone(self, example: Example, target: str, version: str) -> Verdict:
        self._starts.append(target)
        verdict = self.assembler.assemble(example.module(target, version), target, self.folder)
        if verdict.codes:
            self._lone.add(example)
        return verdict


def batch_module(examples: Iterable[Example], target: str, version: str) -> tuple[str, list[int]]:
    """A module with an entry for each example, and the last line of each."""
    parts, ends = [f".version {version}\n.target {target}\n.address_size 64\n"], []
    line = 3
    for number, example in enumerate(examples):
        parts.append(example.entry(f"example_{number}"))
        line += parts[-1].count("\n")
        ends.append(line)
    return "".join(parts), ends
