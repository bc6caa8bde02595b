"""The lane without a GPU: build every specialisation of an implementation for each of its targets and read what the kernels need."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from . import discover
from .contract import CudaSpec, TritonSpec
from .discover import Entry
from .findings import HINT_CHARACTERS, Rejected
from .nvcc import compile_cubin, nvcc_version

WARP_SIZE = 32


def compile_entry(entry: Entry, module: ModuleType) -> dict[str, Any]:
    """The compile record of a loaded implementation; `verdict` is accepted when every specialisation builds for every target.

    Raises:
        Rejected: it has no `compile_specs`, or its page names no target.
    """
    specs = module.compile_specs() if hasattr(module, "compile_specs") else []
    targets = discover.targets(entry.operator, entry.name, entry.folder.parent)
    if not specs or not targets:
        missing = "compile_specs()" if not specs else f"a line `targets: [...]` in {entry.name}.md"
        raise Rejected("compile", "symbol", f"{entry.id}: {missing} is missing, so there is nothing to compile")
    built = {target: [_build(spec, target, entry.folder) for spec in specs] for target in targets}
    failed = next((item for items in built.values() for item in items if not item["ok"]), None)
    return {
        "schema": 1,
        "operator": entry.operator,
        "impl": entry.name,
        "hashes": discover.source_hashes(entry.operator, entry.name, entry.folder.parent),
        "toolkit": _toolkit(specs),
        "targets": {target: _summary(items) for target, items in built.items()},
        "verdict": "rejected" if failed else "accepted",
        **({"stage": "compile", "category": "syntax", "hint": failed["error"]} if failed else {}),
    }


def _summary(items: list[dict[str, Any]]) -> dict[str, Any]:
    """One target: ok if every specialisation is, and the kernels by name."""
    return {
        "ok": all(item["ok"] for item in items),
        "kernels": {name: needs for item in items for name, needs in item.get("kernels", {}).items()},
        **({"error": item["error"]} if (item := next((each for each in items if not each["ok"]), None)) else {}),
    }


def _build(spec: TritonSpec | CudaSpec, target: str, folder: Path) -> dict[str, Any]:
    """`{ok, kernels: {name: {registers, smem_bytes, spill_bytes, threads}}}` or `{ok: False, error}`."""
    try:
        kernels = _build_triton(spec, target) if isinstance(spec, TritonSpec) else _build_cuda(spec, target, folder)
    except Exception as error:  # the compilers raise many kinds; each is the answer for this target
        return {"ok": False, "error": f"{type(error).__name__}: {error}"[:HINT_CHARACTERS]}
    return {"ok": True, "kernels": kernels}


def _build_cuda(spec: CudaSpec, target: str, folder: Path) -> dict[str, dict[str, int]]:
    found = compile_cubin(folder / spec.source, target, spec.defines).resources
    missing = [name for name in spec.kernels if name not in found]
    if missing:
        raise LookupError(f'{spec.source} has no extern "C" kernel {", ".join(missing)}; it has: {", ".join(found) or "none"}')
    return {
        name: {
            "registers": found[name].registers,
            "smem_bytes": found[name].static_smem_bytes + spec.dynamic_smem_bytes,
            "spill_bytes": found[name].spill_bytes,
            "threads": spec.threads_per_block,
        }
        for name in spec.kernels
    }


def _build_triton(spec: TritonSpec, target: str) -> dict[str, dict[str, int]]:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    capability = int(re.sub(r"\D", "", target))
    # Triton wants every argument in declaration order, constexprs among them; attributes are keyed by position.
    names = spec.kernel.arg_names
    signature = {name: spec.signature.get(name, "constexpr") for name in names}
    constants = {(names.index(name),): value for name, value in spec.constexprs.items()}
    attributes = {(names.index(name),): [["tt.divisibility", 16]] for name in spec.divisible_by_16}
    source = ASTSource(fn=spec.kernel, signature=signature, constexprs=constants, attrs=attributes)
    options = {"num_warps": spec.num_warps, "num_stages": spec.num_stages}
    compiled = triton.compile(source, target=GPUTarget("cuda", capability, WARP_SIZE), options=options)
    usage = cubin_usage(compiled.asm["cubin"])
    threads = spec.num_warps * WARP_SIZE
    return {compiled.metadata.name: {**usage, "smem_bytes": compiled.metadata.shared, "threads": threads}}


def cubin_usage(cubin: bytes) -> dict[str, int]:
    """`{registers, spill_bytes}` of the one kernel in a Triton cubin; its stack holds nothing but spills."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [str(_tool("cuobjdump")), "--dump-resource-usage", file.name]
        text = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    registers, stack = re.search(r"\bREG:(\d+)", text), re.search(r"\bSTACK:(\d+)", text)
    if not (registers and stack):
        raise LookupError(f"cuobjdump reported no register use: {text[:200]!r}")
    return {"registers": int(registers[1]), "spill_bytes": int(stack[1])}


def _tool(name: str) -> Path:
    """A binary that Triton's package carries."""
    import triton

    return Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / name


def _toolkit(specs: list[Any]) -> dict[str, str]:
    """Versions of the compilers that these specs need."""
    found = {}
    if any(isinstance(spec, CudaSpec) for spec in specs):
        found["nvcc"] = nvcc_version()
    if any(isinstance(spec, TritonSpec) for spec in specs):
        import triton

        found["triton"] = triton.__version__
        text = subprocess.run([str(_tool("ptxas")), "--version"], capture_output=True, text=True, timeout=60).stdout
        match = re.search(r"V(\d+\.\d+\.\d+)", text)
        found["ptxas"] = match[1] if match else "unknown"
    return found
