"""What a question is about, read from everything given: text, kernel, GPU and report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from indexer.gpus import Gpu
from indexer.vocabulary import Vocabulary, fold
from retriever.diagnosis import Diagnosis
from retriever.kernels.facts import KernelFacts
from retriever.spelling import respell


@dataclass(frozen=True, slots=True)
class Reading:
    """One vocabulary word of the situation and what it was read from."""

    kind: str
    id: str
    source: str
    """`ask`, `kernel line 12`, `report` ..."""


@dataclass(frozen=True)  # no slots: what ranking asks of every record is computed once
class Situation:
    """The question as Warplore understood it; shown to the user, since a wrong reading must be visible."""

    ask: str
    readings: tuple[Reading, ...]
    kernel: KernelFacts | None
    gpu: Gpu | None
    gpu_source: str
    """Where the GPU came from: `--gpu`, `report`, `ask`, or empty."""
    diagnoses: tuple[Diagnosis, ...]
    notes: tuple[str, ...] = ()
    """Readings that conflict or could not be made."""

    def words(self, kind: str) -> tuple[str, ...]:
        """Vocabulary ids of one kind, in order of first reading."""
        return self._words.get(kind, ())

    @cached_property
    def _words(self) -> dict[str, tuple[str, ...]]:
        kinds = {reading.kind for reading in self.readings}
        return {kind: tuple(dict.fromkeys(reading.id for reading in self.readings if reading.kind == kind)) for kind in kinds}

    @cached_property
    def severities(self) -> dict[str, float]:
        """Diagnosed bottleneck to its highest severity, 0 to 1; bottlenecks read from text or source count 0.5."""
        found = {word: 0.5 for word in self.words("bottlenecks")}
        for diagnosis in self.diagnoses:
            for bottleneck in diagnosis.bottlenecks:
                found[bottleneck.id] = max(bottleneck.severity / 100.0, found.get(bottleneck.id, 0.0))
        return found

    @cached_property
    def missing_techniques(self) -> tuple[str, ...]:
        """Techniques that kernels of this kind use and the given kernel does not."""
        return tuple(dict.fromkeys(fact.id for fact in self.kernel.missing)) if self.kernel else ()

    @cached_property
    def wanted_techniques(self) -> tuple[str, ...]:
        """What would help here: techniques the kernel lacks, then the first cures of what the report shows."""
        cures = [cure for diagnosis in self.diagnoses for bottleneck in diagnosis.limits_first[:2] for cure in bottleneck.cures[:3]]
        return tuple(dict.fromkeys((*self.missing_techniques, *cures)))

    def query_text(self, vocabulary: Vocabulary) -> str:
        """The question in words: what was asked, then the titles of what was read from kernel and report."""
        titles = [
            vocabulary.terms[r.kind][r.id].title for r in self.readings if r.source != "ask" and r.kind in ("families", "bottlenecks")
        ]
        titles += [vocabulary.terms["techniques"][word].title for word in self.wanted_techniques[:4]]
        return ". ".join(dict.fromkeys(part for part in (respell(self.ask, vocabulary), *titles) if part))


def read_situation(
    vocabulary: Vocabulary,
    *,
    ask: str = "",
    kernel: KernelFacts | None = None,
    gpu: Gpu | None = None,
    gpu_source: str = "",
    diagnoses: tuple[Diagnosis, ...] = (),
    notes: tuple[str, ...] = (),
) -> Situation:
    """The situation that the given parts describe."""
    spelt = respell(ask, vocabulary)
    if spelt != ask:
        notes = (*notes, f'read as "{spelt}"')
    readings = [Reading(term.kind, term.id, "ask") for term in vocabulary.find(spelt)]
    if kernel:
        for kind, facts in (
            ("families", kernel.families),
            ("bottlenecks", kernel.symptoms),
            ("dtypes", kernel.dtypes),
            ("features", kernel.features),
        ):
            readings += [Reading(kind, fact.id, f"kernel line {fact.line}") for fact in facts if fact.id in vocabulary.terms[kind]]
        readings.append(Reading("languages", kernel.language, "kernel"))
    for diagnosis in diagnoses:
        readings += [Reading("bottlenecks", bottleneck.id, "report") for bottleneck in diagnosis.bottlenecks]
        if not kernel or not kernel.families:
            readings += [
                Reading("families", t.id, "report") for t in vocabulary.find(_identifier_words(diagnosis.kernel)) if t.kind == "families"
            ]
    if kernel and gpu and (absent := [fact for fact in kernel.features if fact.id not in gpu.features]):
        used = "; ".join(f"{fact.id} (line {fact.line})" for fact in absent)
        notes = (*notes, f"the kernel uses what {gpu.name} lacks, so it does not run there as it is: {used}")
    notes = (*notes, *dict.fromkeys(diagnosis.gpu_note for diagnosis in diagnoses if diagnosis.gpu_note))
    unique: dict[tuple[str, str, str], Reading] = {}
    for reading in readings:  # the first line that shows a word stands for all of them
        unique.setdefault((reading.kind, reading.id, reading.source.split(" ")[0]), reading)
    return Situation(ask, tuple(unique.values()), kernel, gpu, gpu_source, diagnoses, notes)


def _identifier_words(name: str) -> str:
    """A kernel's name as words: `softmax_naiveKernel<float>` is `softmax naive kernel float`."""
    spaced = "".join(f" {c}" if c.isupper() and i and name[i - 1].islower() else c if c.isalnum() else " " for i, c in enumerate(name))
    return fold(spaced).strip()
