"""GPU products and compute capabilities: exact facts, looked up by any name a person uses."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, ValidationError, model_validator
from rapidfuzz import fuzz, process

from indexer.errors import CorpusError, InputError
from indexer.schema import Source, Strict, Text
from indexer.vocabulary import load_vocabulary


class Capability(Strict):
    """What every GPU of one compute capability has."""

    architecture: Text
    """Volta, Turing, Ampere, Ada, Hopper, Blackwell."""
    features: tuple[str, ...]
    """Vocabulary features; what is not listed is absent."""
    warps_per_sm: int
    blocks_per_sm: int
    registers_per_sm: int
    """32-bit registers."""
    registers_per_thread: int
    smem_per_sm_bytes: int
    smem_per_block_bytes: int
    """With opt-in (`cudaFuncAttributeMaxDynamicSharedMemorySize`)."""
    sources: Annotated[tuple[str, ...], Field(min_length=1)]
    """Keys of the file's `sources`."""


class Product(Strict):
    """One product as sold. None is unknown, never zero."""

    name: Text
    """As NVIDIA writes it and `nvidia-smi` shows it where that is known."""
    aliases: tuple[str, ...]
    compute_capability: Annotated[str, Field(pattern=r"^\d+\.\d$")]
    sms: int | None = None
    l2_bytes: int | None = None
    memory_bytes: int | None = None
    """As sold: 80 GB is 80e9."""
    memory_type: str | None = None
    bandwidth_gbps: float | None = None
    """Memory bandwidth by the data sheet, 1e9 bytes a second."""
    boost_mhz: int | None = None
    tdp_w: int | None = None
    peaks_tflops: dict[str, float] = Field(default_factory=dict)
    """Dense peak by dtype (1e12 operations a second, no sparsity); `fp16`, `bf16`, `tf32`, `fp8`, `fp6`, `fp4`, `int8`, `int4` on
    tensor cores, `fp32` and `fp64` on the ordinary pipes, `fp64-tensor` on tensor cores. For int dtypes read TOP/s."""
    sources: dict[str, tuple[str, ...]]
    """Key of the file's `sources` to the fields above that it backs."""
    notes: str | None = None

    @model_validator(mode="after")
    def _every_value_has_a_source(self) -> Product:
        backed = {field for fields in self.sources.values() for field in fields}
        given = {field for field in _SOURCED if getattr(self, field) not in (None, {})}
        if given - backed:
            raise ValueError(f"no source for {', '.join(sorted(given - backed))}")
        if backed - set(_SOURCED):
            raise ValueError(f"sources name fields that do not exist: {', '.join(sorted(backed - set(_SOURCED)))}")
        return self


_SOURCED = ("compute_capability", "sms", "l2_bytes", "memory_bytes", "memory_type", "bandwidth_gbps", "boost_mhz", "tdp_w", "peaks_tflops")


class GpuTable(Strict):
    """The whole of gpus.yaml."""

    schema_version: Annotated[int, Field(alias="schema")]
    sources: dict[str, Source]
    compute_capabilities: dict[str, Capability]
    gpus: dict[str, Product]

    @model_validator(mode="after")
    def _references_exist(self) -> GpuTable:
        problems = []
        for id, product in self.gpus.items():
            if product.compute_capability not in self.compute_capabilities:
                problems.append(f"gpus.{id}: compute capability {product.compute_capability} is not in compute_capabilities")
            problems += [f"gpus.{id}: unknown source {key}" for key in product.sources if key not in self.sources]
        for capability, body in self.compute_capabilities.items():
            problems += [f"compute_capabilities.{capability}: unknown source {key}" for key in body.sources if key not in self.sources]
        if problems:
            raise ValueError("; ".join(problems))
        return self


class Gpu(Strict):
    """A resolved GPU: a product with its capability, or a bare compute capability without a product."""

    id: str
    """Key in gpus.yaml, or `sm_90` for a bare compute capability."""
    compute_capability: str
    capability: Capability
    product: Product | None
    asked: str
    """The name it was resolved from."""

    @property
    def name(self) -> str:
        return self.product.name if self.product else f"compute capability {self.compute_capability}"

    @property
    def sm(self) -> int:
        """Compute capability x 10: 90 for 9.0."""
        return int(self.compute_capability.replace(".", ""))

    @property
    def features(self) -> frozenset[str]:
        return frozenset(self.capability.features)


@lru_cache(maxsize=4)
def load_gpus(root: Path) -> GpuTable:
    """The GPU table of the corpus at `root`.

    Raises:
        CorpusError: the file breaks the schema, or names a feature that the vocabulary lacks.
    """
    where = "kernel_wiki/gpus.yaml"
    text = (root / where).read_text(encoding="utf-8")
    try:
        table = GpuTable.model_validate(yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.YAMLError as error:
        raise CorpusError([f"{where}:1: not YAML: {error}"]) from error
    except ValidationError as error:
        raise CorpusError([_located(where, text, ".".join(map(str, e["loc"])), e["msg"]) for e in error.errors()]) from error
    known = load_vocabulary(root).ids("features")
    problems = [
        _located(where, text, f"compute_capabilities.{capability}", f'unknown feature "{feature}"')
        for capability, body in table.compute_capabilities.items()
        for feature in body.features
        if feature not in known
    ]
    names: dict[str, str] = {}
    for id, product in table.gpus.items():
        for name in {_fold(name) for name in (id, product.name, *product.aliases)}:
            if names.setdefault(name, id) != id:
                problems.append(_located(where, text, f"gpus.{id}", f'the name "{name}" also means {names[name]}'))
    if problems:
        raise CorpusError(problems)
    return table


def _located(where: str, text: str, trail: str, message: str) -> str:
    """`path:line: trail: message` with the line of the entry that `trail`, or else the message, names."""
    message = message.removeprefix("Value error, ")
    named = re.search(r"(?:gpus|compute_capabilities|sources)\.([\w.-]+?)(?=[:.]? |$|\.[a-z])", trail or message)
    key = re.search(rf"^  [\"']?{re.escape(named[1])}[\"']?:", text, re.MULTILINE) if named else None
    line = text.count("\n", 0, key.start()) + 1 if key else 1
    return f"{where}:{line}: {trail}: {message}" if trail else f"{where}:{line}: {message}"


def _fold(name: str) -> str:
    """A product name as compared: lower case, without vendor words, blanks and punctuation."""
    folded = re.sub(r"\b(nvidia|geforce|tesla|quadro|graphics)\b", " ", name.lower())
    return re.sub(r"[^a-z0-9]+", "", folded)


_CAPABILITY = re.compile(r"^(?:sm|compute|cc|sm_|compute_|cc_)?[ _]?(\d{1,2})\.?(\d)([af]?)$", re.IGNORECASE)


def _version(capability: str) -> tuple[int, ...]:
    return tuple(map(int, capability.split(".")))


def resolve_gpu(name: str, table: GpuTable) -> Gpu:
    """The GPU that `name` means: a product name in any usual spelling, or a compute capability (`9.0`, `sm_90a`, `90`).

    Raises:
        InputError: nothing has that name; the nearest names are listed.
    """
    wanted = _fold(name)
    for id, product in table.gpus.items():
        if wanted and wanted in {_fold(alias) for alias in (id, product.name, *product.aliases)}:
            capability = table.compute_capabilities[product.compute_capability]
            return Gpu(id=id, compute_capability=product.compute_capability, capability=capability, product=product, asked=name)
    match = _CAPABILITY.match(name.strip())
    if match and (key := f"{match[1]}.{match[2]}") in table.compute_capabilities:
        sm = key.replace(".", "")
        return Gpu(id=f"sm_{sm}", compute_capability=key, capability=table.compute_capabilities[key], product=None, asked=name)
    first = min(table.compute_capabilities, key=_version)
    if match and _version(key := f"{match[1]}.{match[2]}") < _version(first):
        raise InputError(f'unknown GPU "{name}": compute capability {key} is too old; the table begins with compute capability {first}')
    # The plain ratio over folded names: the partial one ties on "RTX" alone and puts RTX 2080 Ti before RTX 4090 for "RTX 4099".
    found = process.extract(wanted, {id: _fold(id) for id in table.gpus}, scorer=fuzz.ratio, limit=3, score_cutoff=40)
    close = [id for _, _, id in found] or sorted(table.compute_capabilities)[:6]
    raise InputError(
        f'unknown GPU "{name}"; nearest: {", ".join(close)}. `warplore gpu` lists all; a compute capability such as 9.0 works too'
    )
