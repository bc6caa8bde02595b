"""Damages real reports at random for some seconds and prints how many were read, refused, crashed, made up or answered otherwise.

Run from the repository's root: python -m tests.bench.fuzz_reports --seconds 120 --seed 1
"""

from __future__ import annotations

import argparse
import random
import time
import traceback
from collections import Counter

from tests.report_damage import DAMAGES, rescaled, sections_of, shuffled, spoken_by
from tests.test_report_properties import REPORTS, console, made_up, other_answer, read, whole

SHOWN = 5  # failures printed with their seeds
SPLICES = (
    "",
    "\n",
    " ",
    "\t",
    "|",
    ">",
    "&lt;",
    "\\n",
    "n/a",
    "9",
    ",",
    ".",
    "(",
    "\x1b[",
    "Section: ",
    "OPT ",
    "\u00a0",
    "-" * 9,
    "==PROF== ",
)


def damaged(name: str, rng: random.Random) -> tuple[str, bool]:
    """A damaged report of `name`, and whether its numbers and labels are still what they were."""
    text = console(name)
    if rng.random() < 0.3:
        head, parts = sections_of(shuffled(text, rng.randrange(10**6)))
        text = head + "".join(part for part in parts if rng.random() < 0.7)
    if rng.random() < 0.2:
        text = rescaled(text, rng.randrange(10**6))
    if rng.random() < 0.2:
        text = spoken_by(text, rng.choice(".,"))
    kinds = rng.sample(sorted(DAMAGES), rng.randint(0, 2))
    for kind in kinds:
        text = DAMAGES[kind](text)
    if rng.random() < 0.3 and not any(kind.startswith(("wrapped", "cell")) for kind in kinds):  # rows over several lines lose half
        text = "".join(line for line in text.splitlines(keepends=True) if rng.random() < 0.9)
    if rng.random() < 0.3:
        text = text[: rng.randrange(len(text) + 1)]
    if rng.random() < 0.4:
        return mutated(text, rng), False
    return text, True


def mutated(text: str, rng: random.Random) -> str:
    for _ in range(rng.randint(1, 30)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(SPLICES) + text[at + rng.choice((0, 1, 1, 40)) :]
    return text


def judged(text: str, name: str, intact: bool) -> str:
    """One word for what became of a damaged report."""
    report = read(text)
    if report is None:
        return "refused"
    if intact and any(made_up(profile, whole(name)) for profile in report.profiles):
        return "made up"
    if intact and any(other_answer(profile, name) for profile in report.profiles):
        return "other answer"
    return "read"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    names = sorted(path.parent.name for path in REPORTS.glob("*/manifest.json"))
    counts: Counter[str] = Counter()
    shown = 0
    seed, end = options.seed, time.monotonic() + options.seconds
    while time.monotonic() < end:
        rng = random.Random(seed)
        name = rng.choice(names)
        text, intact = damaged(name, rng)
        try:
            outcome = judged(text, name, intact)
        except Exception:
            outcome = "crashed"
            print(traceback.format_exc() if shown < SHOWN else "", end="")
        counts[outcome] += 1
        if outcome in ("crashed", "made up", "other answer") and shown < SHOWN:
            shown += 1
            print(f"seed {seed}: {outcome} ({name})")
        seed += 1
    print(
        f"{sum(counts.values())} damaged reports in {options.seconds:g} s: "
        + ", ".join(f"{n} {what}" for what, n in sorted(counts.items()))
    )


if __name__ == "__main__":
    main()
