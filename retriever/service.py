"""The one core behind every door: CLI, Python and MCP call these and get the same answers."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from indexer.encoder import DEFAULT_MODEL, Encoder, load_encoder
from indexer.errors import CorpusError, IndexMissingError, InputError
from indexer.gpus import Gpu, GpuTable, load_gpus
from indexer.index import Index, current_generation, load_index, read_manifest
from indexer.locations import corpus_root
from indexer.state import corpus_digest, corpus_files_state
from indexer.vocabulary import Vocabulary, load_vocabulary
from retriever.candidates import rank_candidates
from retriever.diagnosis import RAW_PAGE, Diagnosed, diagnose
from retriever.gpu_names import gpu_in_text
from retriever.inputs import find_gpu, read_kernel_text, reading_gpu, well_formed
from retriever.kernels.facts import KernelFacts
from retriever.pack import DEFAULT_BUDGET, Pack, build_pack
from retriever.rank import Ranking, rank
from retriever.situation import Situation, read_situation

if TYPE_CHECKING:
    from indexer.build import BuildResult, Progress
    from indexer.records import GuideRecord, Record
    from retriever.reports.profile import Profile, Report

MAX_DIAGNOSED_KERNELS = 3  # launches of a report that go into one situation; the longest are kept


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """State of the index on disk."""

    folder: Path
    state: str
    """`fresh`, `out of date`, `missing` or `damaged`."""
    detail: str
    records: int = 0
    chunks: int = 0
    encoder: str = ""


class Warplore:
    """A corpus with its index.

    Args:
        root: corpus folder; None finds the one beside the packages, or `$WARPLORE_CORPUS`.
        cache: folder for index and encoder; None takes `$WARPLORE_CACHE`, or the user's cache folder.
        encoder: sentence-transformers model name, a folder, or `hash`.
        store: URL of a Chroma server, or None for the embedded one.
        progress: called with `(step, done, total)` while something slow runs.
    """

    def __init__(
        self,
        root: Path | None = None,
        cache: Path | None = None,
        encoder: str | None = None,
        store: str | None = None,
        progress: Progress | None = None,
    ):
        self.root = corpus_root(root)
        self.cache = Path(cache or os.environ.get("WARPLORE_CACHE") or platformdirs.user_cache_dir("warplore"))
        self.encoder_name = encoder or os.environ.get("WARPLORE_ENCODER") or DEFAULT_MODEL
        self.store = store or os.environ.get("WARPLORE_STORE") or None
        self.progress = progress or (lambda *_: None)
        self.warnings: list[str] = []

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return load_vocabulary(self.root)

    @cached_property
    def gpus(self) -> GpuTable:
        return load_gpus(self.root)

    @cached_property
    def encoder(self) -> Encoder:
        try:
            return load_encoder(self.encoder_name, self.cache, self.progress)
        except OSError as error:
            raise InputError(
                f"{self.cache}: cannot be written ({error.strerror or error}); set WARPLORE_CACHE to a writable folder"
            ) from error

    @property
    def index_folder(self) -> Path:
        """One index for each corpus folder and encoder name."""
        safe = re.sub(r"[^A-Za-z0-9.]+", "-", f"{self.root}-{self.encoder_name}{f'-{self.store}' if self.store else ''}").strip("-")
        return self.cache / "index" / safe[-120:]

    # What reads pages or reports is imported where it is needed: a question to a fresh index needs neither, and starts sooner.

    @cached_property
    def guides(self) -> tuple[GuideRecord, ...]:
        """Every valid guide, read from its page; broken ones are named in `warnings`."""
        return tuple(self.entries("guide"))  # type: ignore[arg-type]

    def entries(self, kind: str) -> list[Record]:
        """The valid records of one kind, read from their pages, in path order; broken ones are named in `warnings`."""
        from indexer.corpus import read_entries

        records, problems = read_entries(self.root, kind, self.vocabulary)
        self.warnings += problems
        return records

    def entry(self, id: str) -> Record:
        """The record with that id, read from its page.

        Raises:
            InputError: no entry has that id; the nearest ids are listed.
        """
        from indexer.corpus import read_entry

        return read_entry(self.root, id, self.vocabulary)

    def status(self) -> IndexStatus:
        """Whether the index is there and up to date; reads only what changed."""
        folder = self.index_folder
        generation = current_generation(folder)
        if generation is None:
            return IndexStatus(folder, "missing", "no index yet; it is built on first use, or by `warplore index build`")
        try:
            manifest = read_manifest(generation)
        except IndexMissingError as error:
            return IndexStatus(folder, "damaged", str(error))
        facts = (manifest.records, manifest.chunks, manifest.encoder)
        state = corpus_files_state(self.root, manifest.files)
        if corpus_digest(state) != manifest.corpus_digest:
            before, now = manifest.files, state
            changed = sum(1 for name in now if name in before and before[name][2] != now[name][2])
            detail = f"{changed} files changed, {len(now.keys() - before.keys())} added, {len(before.keys() - now.keys())} removed"
            return IndexStatus(folder, "out of date", detail, *facts)
        return IndexStatus(folder, "fresh", "as the corpus is now", *facts)

    def build(self, *, fresh: bool = False) -> BuildResult:
        """Bring the index up to date; `fresh` computes every vector anew."""
        from indexer.build import build_index  # a question to a fresh index needs none of what building imports

        result = build_index(self.root, self.index_folder, self.encoder, store=self.store, fresh=fresh, progress=self.progress)
        self.__dict__.pop("index", None)
        return result

    @cached_property
    def index(self) -> Index:
        """The index, built or brought up to date first when that is needed and possible.

        Raises:
            IndexMissingError: there is none and none can be built.
        """
        status = self.status()
        if status.state != "fresh":
            self.warnings.append(f"index {status.state}: {status.detail}")
            try:
                self.warnings += [f"left out of the index: {problem}" for problem in self.build().problems]
            except (InputError, CorpusError) as error:
                if status.state != "out of date":
                    raise IndexMissingError(str(error)) from error
                self.warnings.append(f"answering from the old index, since a new one cannot be built: {error}")
        try:
            return load_index(self.index_folder, self.encoder.name)
        except IndexMissingError as error:
            self.warnings.append(f"{error}; building it anew")
            self.build()  # reuses the vectors where those are whole: encoding all of them anew takes over a minute
            return load_index(self.index_folder, self.encoder.name)

    def read_kernel(self, path: str) -> KernelFacts:
        """The facts of the kernel source at `path`.

        Raises:
            InputError: it cannot be read as text, or is a profiler's report.
        """
        from retriever.kernels.read import read_kernel  # brings the parsers, which a question without a kernel does not need

        text = read_kernel_text(path)
        facts = read_kernel(text, Path(path).name if path != "-" else "standard input")
        if not facts.kernels:
            from retriever.reports.read import is_report

            if is_report(text):
                raise InputError(f"{path}: a report of Nsight Compute, not a kernel's source; give it with --ncu")
        if facts.instructions:
            from retriever.isa_links import linked

            facts = linked(facts, self.root)
        return facts

    def diagnose(self, report: Report, gpu: Gpu | None = None, kernel_name: str | None = None) -> tuple[Diagnosed, ...]:
        """Every launch of a report with its diagnosis, in report order; `kernel_name` keeps those that `chosen` finds by it.

        A launch is read by the GPU that the report names; `gpu`, which the user named, stands in where it can be that one.

        Raises:
            InputError: no kernel has that name.
        """
        from retriever.estimates import with_estimates
        from retriever.reports.choose import choices, chosen
        from retriever.reports.derive import with_derived
        from retriever.reports.weak_form import is_weak

        profiles = chosen(report.profiles, kernel_name)
        if not profiles:
            raise InputError(f'{report.source}: no kernel name contains "{kernel_name}"; the report has {choices(report.profiles)}')
        found = []
        for profile in profiles:
            reported = self.gpu_of(profile)
            filled = with_derived(with_estimates(profile, reading_gpu(profile, gpu, reported)))
            diagnosis = diagnose(filled, self.guides, gpu or reported, reported)
            if report.has_every_metric and diagnosis.collect_next == RAW_PAGE:
                diagnosis = replace(diagnosis, collect_next="")
            found.append((filled if is_weak(profile) else profile, diagnosis))
        return tuple(found)

    def gpu_of(self, profile: Profile) -> Gpu | None:
        """The GPU that a profile names: the product where it is known, else the compute capability."""
        for name in (profile.device, profile.compute_capability):
            if name:
                try:
                    return find_gpu(name, self.gpus)
                except InputError:
                    continue
        return None

    def situation(
        self, ask: str = "", kernel: str | None = None, gpu: str | None = None, ncu: str | None = None, kernel_name: str | None = None
    ) -> Situation:
        """What the given parts describe; any one of them is enough.

        Args:
            ask: a question in words.
            kernel: path of a kernel's source.
            gpu: product name, compute capability or `auto`.
            ncu: path of a Nsight Compute report in text form.
            kernel_name: keeps only the launches of the report whose name contains it.

        Raises:
            InputError: nothing was given, or something cannot be read.
        """
        if not any((ask.strip(), kernel, gpu, ncu)):
            raise InputError("nothing to go by: give a question, --kernel, --gpu or --ncu")
        if kernel == "-" and ncu == "-":
            raise InputError("--kernel - and --ncu -: standard input can be read once; give one of them as a file")
        if kernel_name and not ncu:
            raise InputError(f'--kernel-name "{kernel_name}": chooses launches of a report, and none was given; add --ncu REPORT')
        ask = well_formed(ask)
        facts = self.read_kernel(kernel) if kernel else None
        resolved = find_gpu(gpu, self.gpus) if gpu else None
        source = "--gpu" if resolved else ""
        notes: list[str] = []
        diagnosed: tuple[Diagnosed, ...] = ()
        if ncu:
            from retriever.reports.read import read_report
            from retriever.weak_facts import for_gpu

            report = for_gpu(read_report(ncu), resolved)
            diagnosed = _longest(self.diagnose(report, resolved, kernel_name), facts, notes)
            if not resolved and (reported := self.gpu_of(report.profiles[0])):
                resolved, source = reported, "the report"
            notes += list(report.notes[:3])
        if not resolved and (named := gpu_in_text(ask, self.gpus)):
            resolved, source = named, "the question"
        return read_situation(
            self.vocabulary,
            ask=ask.strip(),
            kernel=facts,
            gpu=resolved,
            gpu_source=source,
            diagnoses=tuple(diagnosis for _, diagnosis in diagnosed),
            notes=tuple(notes),
        )

    def rank(self, situation: Situation, *, include_never: bool = False) -> Ranking:
        """Every record that a situation calls for, best first."""
        index = self.index
        try:
            rankings = rank_candidates(situation, index, self.encoder, self.vocabulary)
        except IndexMissingError as error:  # the vectors are opened at the first question, by when they may be damaged
            self.warnings.append(f"{error}; building it anew")
            self.build()
            rankings = rank_candidates(situation, self.index, self.encoder, self.vocabulary)
        return rank(situation, rankings, self.index, include_never=include_never)

    def context(self, situation: Situation, budget: int = DEFAULT_BUDGET) -> Pack:
        """The context pack for a situation, at most `budget` tokens."""
        return build_pack(situation, self.rank(situation), self.root, budget)


def _longest(diagnosed: tuple[Diagnosed, ...], facts: KernelFacts | None, notes: list[str]) -> tuple[Diagnosed, ...]:
    """The launches that matter: those of the given kernel when the report has them, the longest of the others."""
    own = tuple(pair for pair in diagnosed if facts and any(name in pair[0].kernel for name in facts.kernels))
    chosen = own or diagnosed
    if len(chosen) <= MAX_DIAGNOSED_KERNELS:
        return chosen
    duration: dict[int, Any] = {place: pair[0].value("gpu__time_duration.sum") or 0.0 for place, pair in enumerate(chosen)}
    kept = sorted(sorted(duration, key=lambda place: (-duration[place], place))[:MAX_DIAGNOSED_KERNELS])
    notes.append(f"the report has {len(chosen)} launches; the {len(kept)} longest are used. --kernel-name chooses")
    return tuple(chosen[place] for place in kept)
