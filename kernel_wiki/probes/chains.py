"""Timings of register instructions: a dependent chain for the latency, independent ones for the rate."""

from __future__ import annotations

from .probe import Timing

CHAIN = 256
"""Dependent instances between two clock reads: a read's own uncertainty of some ten cycles is 0.04 of one instance."""
THROUGHPUT_THREADS = 1024
"""Eight warps for each of an SM's four schedulers."""
THROUGHPUT_CHAINS = 4
THROUGHPUT_PASSES = 16
"""Independent chains in each thread: with eight warps, 32 instances in flight for each scheduler."""


def chain(
    isa: str,
    name: str,
    step: str,
    sass: str,
    *,
    per: int = 1,
    kind: str = "r",
    operands: str = "rr",
    seeds: tuple[int, ...] = (3, 5, 7),
    prelude: str = "",
    count: int = CHAIN,
    latency: bool = True,
    rate: bool = True,
    most: int = 0,
    note: str = "",
) -> tuple[Timing, ...]:
    """Latency of a dependent chain in one warp, and the rate of independent chains in 32 warps of one SM.

    Args:
        seeds: words of the input buffer: the start of `$x`, then `$a`, `$b`; word 6 is the start's step from thread to thread.
        step: PTX of one instance: `$x` is read and written, `$a` and `$b` (constraints `operands`) are only read.
        sass: regular expression of the instruction that each instance must become, `per` times.
        kind: constraint of `$x`.
        most: SASS matches allowed for an instance, where more than twice `per`.
    """
    made = []
    if latency:
        method = f"{count} dependent instances in one warp between two %clock64 reads{note}"
        body = _chain_source(step, kind, operands, prelude, count, 1)
        made.append(Timing(isa, f"{name} latency", body, sass, per * count, count, "cycles", method, seeds=seeds, sass_most=most * count))
    if rate:
        steps = max(1, count // THROUGHPUT_CHAINS)
        method = (
            f"{THROUGHPUT_THREADS} threads on one SM, {THROUGHPUT_CHAINS} independent chains of {steps} instances, "
            f"{THROUGHPUT_PASSES} times over{note}"
        )
        body = _chain_source(step, kind, operands, prelude, steps, THROUGHPUT_CHAINS, THROUGHPUT_PASSES)
        total = steps * THROUGHPUT_CHAINS
        work = THROUGHPUT_THREADS * total * THROUGHPUT_PASSES
        made.append(
            Timing(
                isa,
                f"{name} rate",
                body,
                sass,
                per * total,
                work,
                "per_clock_per_sm",
                method,
                "instances by one thread",
                seeds=seeds,
                block=THROUGHPUT_THREADS,
                sass_most=most * total,
            )
        )
    return tuple(made)


def _chain_source(step: str, kind: str, kinds: str, prelude: str, steps: int, chains: int, passes: int = 1) -> str:
    """`passes` timed passes over the instances, after one that brings them into the instruction cache."""
    ctype = {"r": "u32", "l": "u64", "h": "u16"}
    lines = []
    for _ in range(steps):
        for index in range(chains):
            text = step.replace("$x", f"%{index}")
            for position in range(len(kinds)):
                text = text.replace("$" + "abcd"[position], f"%{chains + position}")
            lines.append(f'"{text}\\n"')
    values = "\n".join(
        f"    {ctype[kind]} x{i} = ({ctype[kind]})in[0] + {i} * ({ctype[kind]})in[7] + threadIdx.x * ({ctype[kind]})in[6];"
        for i in range(chains)
    )
    fixed = "\n".join(f"    {ctype[k]} c{i} = ({ctype[k]})in[{i + 1}];" for i, k in enumerate(kinds))
    outs = ", ".join(f'"+{kind}"(x{i})' for i in range(chains))
    ins = ", ".join(f'"{k}"(c{i})' for i, k in enumerate(kinds))
    sink = " ^ ".join(f"(u64)x{i}" for i in range(chains))
    body = "\n            ".join(lines)
    return f"""{values}
{fixed}
    u64 start = 0, stop = 0;
#pragma unroll 1
    for (int pass = 0; pass <= {passes}; ++pass) {{
        if (pass < 2) {{
            __syncthreads();
            start = read_clock();
        }}
        asm volatile("{{{prelude}\\n"
            {body}
            "}}" : {outs} : {ins} : "memory");
    }}
    stop = read_clock();
    keep_clocks(clocks, start, stop);
    out[threadIdx.x] = {sink};
"""
