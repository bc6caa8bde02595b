"""The records that corpus files become. Each is frozen, and unknown keys are errors.

A record's id is its path without the suffix: `kernel_wiki/guides/tail-effect.md` is `guide/tail-effect`.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

from pydantic import Field, PrivateAttr, model_validator

from indexer.schema import Source, Strict, Text

KIND_TITLES = {
    "zoo": "Implementation",
    "attempt": "Failed attempt",
    "technique": "Technique",
    "guide": "Guide",
    "hardware": "Hardware",
    "isa": "Instruction",
    "pr": "Precedent",
    "skill": "Skill",
}
"""Every kind of record and what a person calls it."""


class Fallback(Strict):
    """What to do on a GPU that lacks something this entry requires."""

    instead_of: Text
    """A feature in `requires`."""
    use: tuple[str, ...] = ()
    """Features the GPU must have instead; empty when any GPU can do it."""
    how: Text
    """The change to make, in one sentence."""


class Record(Strict):
    """What every corpus entry has."""

    title: Text
    summary: Text
    """One or two sentences that stand alone: what it is and when it helps."""
    families: tuple[str, ...] = ()
    techniques: tuple[str, ...] = ()
    bottlenecks: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    """Hardware features without which it cannot run as it stands."""
    sm_min: int | None = None
    """Lowest compute capability x 10 (80 is 8.0); None: any."""
    fallbacks: tuple[Fallback, ...] = ()
    sources: tuple[Source, ...] = ()
    license: Text = "Apache-2.0"
    reviewed: datetime.date | None = None

    _id: str = PrivateAttr("")
    _location: str = PrivateAttr("")
    _body: str = PrivateAttr("")

    @property
    def kind(self) -> str:
        """One of KIND_TITLES."""
        return self._id.split("/", 1)[0]

    @property
    def id(self) -> str:
        return self._id

    @property
    def location(self) -> str:
        """`path:start-end` of the file, relative to the corpus root."""
        return self._location

    @property
    def path(self) -> str:
        return self._location.rsplit(":", 1)[0]

    @property
    def body(self) -> str:
        """The markdown below the front matter."""
        return self._body


class SourcedRecord(Record):
    """A record that must say where its facts come from and when they were read."""

    sources: Annotated[tuple[Source, ...], Field(min_length=1)]
    reviewed: datetime.date


class ZooRecord(Record):
    """An implementation in the zoo: `kernel_wiki/zoo/<operator>/<impl>.md`."""

    families: Annotated[tuple[str, ...], Field(min_length=1)]
    techniques: Annotated[tuple[str, ...], Field(min_length=1)]
    dtypes: Annotated[tuple[str, ...], Field(min_length=1)]
    languages: Annotated[tuple[str, ...], Field(min_length=1)]
    reviewed: datetime.date
    targets: Annotated[tuple[str, ...], Field(min_length=1)]
    """What it must compile for: `sm_80`, `sm_90a` ... CUDA C++ without `a` runs on every later one."""
    parent: str | None = None
    """Id of the implementation that this one improves on."""


class AttemptRecord(ZooRecord):
    """An implementation that is right and was slower than its parent: `kernel_wiki/attempts/<operator>/<name>.md`."""

    parent: Annotated[str, Field(pattern=r"^zoo/[^/]+/[^/]+$")]
    """Id of the implementation that it was meant to beat."""


class TechniqueRecord(SourcedRecord):
    """A way to make a kernel faster: `kernel_wiki/techniques/<technique>.md`, named for its vocabulary term."""

    bottlenecks: Annotated[tuple[str, ...], Field(min_length=1)]
    """The bottlenecks it cures."""


class HardwareRecord(SourcedRecord):
    """What a hardware unit offers and demands: `kernel_wiki/hardware/<subject>.md`."""


class Condition(Strict):
    """A comparison on a report's metrics; see `retriever.metric_expressions` for what can stand in them."""

    metric: Text
    """A metric name, or an arithmetic expression over metric names (`+ - * /`, `min()`, `max()`, `floor()`, `first()`)."""
    label: str = ""
    """The metric in a few words, for readers: "global sectors wasted"; the unit stays in `unit`."""
    op: Literal[">", ">=", "<", "<=", "==", "!="]
    value: float
    unit: str = ""
    """Unit of `value` in the profile's base units (%, ns, byte, cycle, inst, warp ...)."""
    source: Text
    """Who says so: an NVIDIA rule, a document, or our own measurement."""


class Signature(Strict):
    """When a report shows a bottleneck."""

    all: Annotated[tuple[Condition, ...], Field(min_length=1)]
    """Every one must hold. One that cannot be read (metric missing) makes the answer unknown, never true."""
    any: tuple[Condition, ...] = ()
    """When given, at least one must hold as well."""
    none: tuple[Condition, ...] = ()
    """Competing explanations: if one holds, this bottleneck is not named."""


class GuideRecord(SourcedRecord):
    """How to read one bottleneck in an ncu report: `kernel_wiki/guides/<bottleneck>.md`."""

    signatures: tuple[Signature, ...] = ()
    """The bottleneck is named when any one of them holds; the first that holds is the evidence shown."""
    severity: str | None = None
    """Expression over metric names for the share of time at stake, 0 to 100; clipped. See `retriever.metric_expressions`."""
    bound: str | None = None
    """What `severity` estimates and what caps the gain, in one sentence; gains of several guides are never added."""
    limit: bool = False
    """True where the guide names a unit at its limit: on a kernel that wastes nothing this is the roof and no fault."""
    cures: tuple[str, ...] = ()
    """Techniques that cure it, in the order to try."""
    not_cures: tuple[str, ...] = ()
    """Techniques that look right and do not help."""
    explains: tuple[str, ...] = ()
    """Bottlenecks that this one brings about: where both show, this one is named first. See `retriever.diagnosis`."""
    sections: tuple[str, ...] = ()
    """ncu section ids that hold its metrics (`--section`)."""

    @model_validator(mode="after")
    def _severity_goes_with_signatures(self) -> GuideRecord:
        if self.signatures and not self.severity:
            raise ValueError("severity is required beside signatures")
        return self


class IsaRecord(SourcedRecord):
    """An instruction: `isa/<family>/<instruction>.md`."""

    mnemonic: Text
    """As written in PTX, without modifiers that vary: `cp.async.bulk.tensor`."""
    ptx: Text
    """PTX ISA version that introduced it, as "8.0"."""
    targets: Text
    """Who has it, in words: "sm_90 and later", "sm_90a only", "sm_100a, sm_103a, sm_110a"."""
    also: tuple[Text, ...] = ()
    """Further mnemonics that this page is about, where one page serves a small group: `mad24` on the page of `mul24`."""
    instead: tuple[str, ...] = ()
    """Neighbouring instructions on other architectures: isa ids."""


class Figure(Strict):
    """One performance figure that a change states about itself. Not ours, unless `source` says measured by us."""

    metric: Text
    """What was measured, with unit: "kernel time (us)", "throughput (TFLOP/s)", "tokens/s"."""
    before: float | None = None
    after: float | None = None
    ratio: float | None = None
    """Speed-up as stated: above 1 is faster."""
    conditions: Text
    """GPU, shape, dtype and baseline as stated; "not stated" where they are not."""
    source: Literal["title", "message", "table", "code comment"]


class Fate(Strict):
    """What later became of the change."""

    status: Literal["live", "reverted", "partly-reverted", "relanded", "fixed", "superseded", "unknown"]
    by: tuple[str, ...] = ()
    """Later commits or pull requests that say so: "#2114", "d972e76d0688"."""
    reason: str | None = None
    """Why, when the history says; absent otherwise."""


class PrRecord(SourcedRecord):
    """A merged change: `pr_archive/<owner>--<repo>/<number>.md`, or the commit's first 12 digits without a number."""

    repo: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    number: int | None = None
    merged: datetime.date
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{12,40}$")]
    paths: Annotated[tuple[str, ...], Field(min_length=1)]
    """The kernel files it changed; not tests, documents or build files."""
    families: Annotated[tuple[str, ...], Field(min_length=1)]
    gpus: tuple[str, ...] = ()
    """Products or architectures the change names."""
    figures: tuple[Figure, ...] = ()
    fate: Fate


class SkillRecord(Record):
    """An Agent Skill: `skills/<name>/SKILL.md`; its front matter follows the Agent Skills specification instead."""


RECORD_TYPES: dict[str, type[Record]] = {
    "zoo": ZooRecord,
    "attempt": AttemptRecord,
    "technique": TechniqueRecord,
    "guide": GuideRecord,
    "hardware": HardwareRecord,
    "isa": IsaRecord,
    "pr": PrRecord,
    "skill": SkillRecord,
}
