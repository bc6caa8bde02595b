"""What the source of a kernel shows, whatever language it is written in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """One reading of the source, with the place that shows it."""

    id: str
    """A vocabulary id, or a symptom such as `strided-global-load`."""
    line: int
    """First line that shows it, from 1."""
    why: str
    """What was seen there, in a few words: `__shfl_xor_sync`, `tl.load with a stride of n_cols`."""


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """The reading of one source file."""

    source: str
    """File name as given."""
    language: str
    """Vocabulary id: cuda, triton, ptx ..."""
    parsed: bool
    """False when the text did not parse and was read by patterns alone; `notes` says where it broke."""
    kernels: tuple[str, ...]
    """Names of the device entry points."""
    families: tuple[Fact, ...]
    """Operator families, most likely first."""
    dtypes: tuple[Fact, ...]
    techniques: tuple[Fact, ...]
    """Techniques present."""
    missing: tuple[Fact, ...]
    """Techniques that kernels of this kind use and this one does not."""
    symptoms: tuple[Fact, ...]
    """Suspicious places, `id` being a vocabulary bottleneck."""
    features: tuple[Fact, ...]
    """Hardware features that the source uses, and so requires."""
    tiles: dict[str, int]
    """Tile sizes and launch constants read as numbers: `{"BLOCK_M": 128, "num_warps": 8, "__launch_bounds__": 256}`."""
    notes: tuple[str, ...] = ()
    """What could not be read, each with its line."""
    instructions: tuple[Fact, ...] = ()
    """What a listing (PTX, SASS) counts: `id` an instruction, or once linked the id of its page; `why` says how often."""
