"""Probes as CUDA C++."""

from __future__ import annotations

from .operands import TYPES
from .probe import AnyProbe, Probe, Timing, symbol


def function_source(each: AnyProbe) -> str:
    """The kernel as CUDA C++."""
    if isinstance(each, Probe):
        return _probe_source(each)
    if isinstance(each, Timing):
        return _function(f"__launch_bounds__({each.block})", symbol(each), ["const u64* in", "u64* out", "u64* clocks"], each.source)
    maps = [f"const __grid_constant__ TensorMap map{i}" for i in range(len(each.tensor_maps))]
    names = [f"u32* in{i}" for i in range(len(each.inputs()))]
    return _function(f"__launch_bounds__({each.block}, 1)", symbol(each), [*maps, *names, "u32* out"], each.source)


def _function(bounds: str, name: str, parameters: list[str], body: str) -> str:
    return f'extern "C" __global__ void {bounds} {name}({", ".join(parameters)}) {{\n{body}}}\n'


def _probe_source(probe: Probe) -> str:
    ins, outs = ([TYPES[name] for name in text.split()] for text in (probe.ins, probe.outs))
    load = "\n".join(f"    {kind.ctype} a{i} = ({kind.ctype})in[index * {len(ins)} + {i}];" for i, kind in enumerate(ins))
    declare = "\n".join(f"    {kind.ctype} d{i};" for i, kind in enumerate(outs))
    written = ", ".join(f'"=&{kind.constraint}"(d{i})' for i, kind in enumerate(outs))
    read = ", ".join(f'"{kind.constraint}"(a{i})' for i, kind in enumerate(ins))
    store = "\n".join(f"    out[index * {len(outs)} + {i}] = d{i};" for i in range(len(outs)))
    return f"""extern "C" __global__ void {symbol(probe)}(const u64* in, u64* out, int cases) {{
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= cases) return;
{load}
{declare}
    asm volatile("{{{probe.asm}}}" : {written} : {read} : "memory");
{store}
}}
"""
