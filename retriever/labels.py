"""The labels of the evidence kernels, `kernel_wiki/reports/<kernel>/label.yaml`: what a report of each must say, decided by its author."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from indexer.corpus import Corpus
from indexer.errors import did_you_mean
from indexer.schema import Strict, Text
from kernel_wiki.reports.make_reports import source_hash

FOLDER = Path("kernel_wiki", "reports")


class Label(Strict):
    """What one kernel was built to show."""

    planted: tuple[str, ...] | None
    """Bottlenecks an expert names, the first one first; none for a good kernel; null where it became neither."""
    designed: tuple[str, ...] | None = None
    """What `planted` was before the report existed, where that shows otherwise."""
    also: tuple[str, ...] = ()
    """May be named beside them without being wrong."""
    never: tuple[str, ...] = ()
    """False leads; for a cured kernel, what was cured."""
    cures: str | None = None
    """The kernel whose work this one does without its bottleneck."""
    technique: str | None = None
    """How, as a vocabulary term."""
    limit: str | None = None
    """The unit whose roof a good or cured kernel comes near."""
    reason: Text
    """Which counters should show it."""
    blind: bool = False
    """Written by somebody who had read neither guides nor other labels: what the diagnosis said at first sight stands in the README."""
    measured: str = ""
    """What they showed, where `planted` was changed for it."""

    @property
    def is_good(self) -> bool:
        """Whether an expert would repair nothing."""
        return self.planted == ()


def load_labels(root: Path) -> dict[str, Label]:
    """Kernel to label, sorted by name.

    Raises:
        ValidationError: a file breaks its schema; `label_problems` says so in words.
    """
    return {path.parent.name: _read(path) for path in sorted((root / FOLDER).glob("*/label.yaml"))}


def _read(path: Path) -> Label:
    return Label.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))


def report_manifest(root: Path, name: str) -> dict[str, Any] | None:
    """How and when the kept report of a kernel was made, and its time; None where there is no report yet."""
    path = root / FOLDER / name / "manifest.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def label_problems(corpus: Corpus) -> Iterator[str]:
    """What is wrong with labels and reports: schema, words, twins, reports that are missing or of another source."""
    bottlenecks, techniques = (set(corpus.vocabulary.ids(kind)) for kind in ("bottlenecks", "techniques"))
    folder = corpus.root / FOLDER
    names = {path.stem for path in folder.glob("*/*.cu")}
    for name in sorted(names):
        where = (FOLDER / name / "label.yaml").as_posix()
        try:
            label = _read(folder / name / "label.yaml")
        except FileNotFoundError:
            yield f"{where}:1: missing; say what a report of {name}.cu must show (CONTRIBUTING.md)"
            continue
        except (ValidationError, yaml.YAMLError) as error:
            yield f"{where}:1: {' '.join(str(error).split())[:200]}"
            continue
        for word in (*(label.planted or ()), *(label.designed or ()), *label.also, *label.never, *([label.limit] if label.limit else [])):
            if word not in bottlenecks:
                yield f'{where}:1: unknown bottleneck "{word}"{did_you_mean(word, sorted(bottlenecks))}'
        if label.technique and label.technique not in techniques:
            yield f'{where}:1: unknown technique "{label.technique}"{did_you_mean(label.technique, sorted(techniques))}'
        if label.cures and label.cures not in names:
            yield f'{where}:1: cures "{label.cures}", and there is no such kernel{did_you_mean(label.cures, sorted(names))}'
        yield from _report_problems(corpus.root, name)


def _report_problems(root: Path, name: str) -> Iterator[str]:
    """The report must be of the present source."""
    where = (FOLDER / name / "manifest.json").as_posix()
    remedy = f"run kernel_wiki/reports/make_reports.py --only {name} on a GPU, then keep_reports.py"
    manifest = report_manifest(root, name)
    if manifest is None:
        yield f"{where}:1: no report yet; {remedy}"
    elif manifest["source_sha256"] != source_hash(name):
        yield f"{where}:1: the report is of another source; {remedy}"
