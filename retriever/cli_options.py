"""What the commands share: options, the opened core, JSON on stdout. Imports nothing heavy, so that `--help` does not either."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from retriever.service import Warplore


def _gpu_names(incomplete: str) -> list[str]:
    from indexer.gpus import load_gpus
    from indexer.locations import corpus_root

    return [name for name in load_gpus(corpus_root()).gpus if name.startswith(incomplete.lower())]


GpuName = Annotated[str | None, typer.Option("--gpu", help="Product name, compute capability, or auto.", autocompletion=_gpu_names)]
GpuArgument = Annotated[str | None, typer.Argument(help="Product name, compute capability, or auto.", autocompletion=_gpu_names)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Corpus = Annotated[Path | None, typer.Option("--corpus", help="Corpus folder.", envvar="WARPLORE_CORPUS")]
Store = Annotated[str | None, typer.Option("--store", help="URL of a Chroma server for the vectors.", envvar="WARPLORE_STORE")]
Encoder = Annotated[str | None, typer.Option("--encoder", help="Embedding model: name, folder or hash.", envvar="WARPLORE_ENCODER")]


@contextmanager
def opened(corpus: Path | None = None, store: str | None = None, encoder: str | None = None) -> Iterator[Warplore]:
    """A Warplore whose progress shows on stderr; its warnings are printed at the end."""
    from retriever.service import Warplore
    from retriever.terminal import progress_reporter

    with progress_reporter() as report:
        core = Warplore(corpus, store=store, encoder=encoder, progress=report)
        yield core
    for warning in dict.fromkeys(core.warnings):
        print(f"warplore: {warning}", file=sys.stderr)


def print_json(value: dict[str, Any]) -> None:
    """One JSON value on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=1) + "\n")
