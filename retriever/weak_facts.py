"""What is known of a kernel without counters, in words and as JSON, and what would tell more."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from indexer.gpus import Gpu
from retriever.estimates import ABOVE_PEAK, DTYPE, shared_bytes_of, threads_of
from retriever.quantities import quantity
from retriever.reports.profile import Profile, Report
from retriever.reports.weak_form import form_of, is_weak

if TYPE_CHECKING:
    from retriever.diagnosis import Diagnosis

WEAK = "from resources and time, no counters"
LEADING_SHARE_PCT, LEADING_MOST = 90.0, 8  # guesses: what a person looks at of a trace of hundreds of kernels

SUSPECTS = ("latency-long-scoreboard", "shared-bank-conflict", "uncoalesced-access")
"""Faults that no resource and no time shows."""

LIMIT_WORDS = {"registers": "registers", "shared_mem": "shared memory", "warps": "warps per SM", "blocks": "blocks per SM"}


def weak_lines(profile: Profile, gpu: Gpu | None) -> list[str]:
    """The facts, then what would add to them; empty for a profile with counters."""
    if not is_weak(profile):
        return []
    asks = wanted(profile, gpu)
    more = [f"would tell more: {'; '.join(asks)}"] if asks else []
    return [
        f"{form_of(profile)}: {'; '.join(facts(profile)) or 'nothing that is computed with'}",
        *_not_in_table(profile, gpu),
        *_unlaunchable(profile, gpu),
        *_advisories(profile),
        *more,
    ]


def _not_in_table(profile: Profile, gpu: Gpu | None) -> list[str]:
    """A line for a compute capability that was read and that the GPU table lacks."""
    if gpu or not profile.compute_capability:
        return []
    return [f"compute capability {profile.compute_capability}: not in the GPU table, so its limits and peaks are not known here"]


def _unlaunchable(profile: Profile, gpu: Gpu | None) -> list[str]:
    """A line for shared memory that no block can have on this GPU."""
    shared = shared_bytes_of(profile)
    if gpu is None or not shared or shared <= gpu.capability.smem_per_block_bytes:
        return []
    most = gpu.capability.smem_per_block_bytes
    return [f"{shared:,} B shared memory is more than a block can have here, {most:,} B: the kernel cannot launch"]


def _advisories(profile: Profile) -> list[str]:
    """One line a code of ptxas, those that it calls a loss first."""
    texts: dict[str, list[str]] = {}
    for rule in sorted(profile.rules, key=lambda rule: ("Performance Loss" not in rule.text, rule.name)):
        texts.setdefault(rule.name, []).append(rule.text)
    return [f"{code}: {found[0]}{f' (and {len(found) - 1} more)' if len(found) > 1 else ''}" for code, found in texts.items()]


def facts(profile: Profile) -> list[str]:
    """Resources, geometry, times and shares, each in a few words."""
    found = []
    value = profile.value
    if (registers := value("launch__registers_per_thread")) is not None:
        found.append(f"{registers:.0f} registers")
    if stores := value("ptxas__spill_store_bytes"):
        found.append(f"{stores:.0f} B spill stores, {value('ptxas__spill_load_bytes') or 0:.0f} B spill loads")
    elif stack := value("ptxas__stack_bytes"):
        found.append(f"{stack:.0f} B stack")
    if shared := shared_bytes_of(profile):
        found.append(f"{shared:,} B shared memory")
    if (occupancy := value("sm__maximum_warps_per_active_cycle_pct")) is not None:
        found.append(f"occupancy {occupancy:.0f} % by {limiter(profile)} (computed)")
    elif (bound := value("computed__occupancy_by_registers_pct")) is not None:
        found.append(f"occupancy at most {bound:.0f} % by registers (computed)")
    if (waves := value("launch__waves_per_multiprocessor")) is not None:
        found.append(f"{waves:.3g} waves")
    return found + _times(profile)


def _times(profile: Profile) -> list[str]:
    found = []
    value = profile.value
    if (time_ns := value("timed__duration_ns") or value("gpu__time_duration.sum")) is not None:
        found.append(quantity(time_ns, "ns"))
    if (rate := value("timed__bytes_per_second")) is not None:
        share = value("timed__dram_pct_of_peak")
        of_peak = f", {share:.0f} % of the DRAM peak" if share is not None else ""
        found.append(f"{quantity(rate, 'byte/s')}{of_peak}{' (the rest came from a cache)' if share and share > 100 else ''}")
    if (rate := value("timed__flops_per_second")) is not None:
        share = next(
            (value(f"timed__{pipe}_pct_of_peak") for pipe in ("fp32", "fp64", "tensor") if value(f"timed__{pipe}_pct_of_peak")), None
        )
        of_peak = f", {share:.0f} % of the {profile.attributes.get(DTYPE)} peak" if share is not None else ""
        if (share := value(ABOVE_PEAK)) is not None:
            of_peak = f", {share:,.0f} % of the {profile.attributes.get(DTYPE)} peak, which cannot be: check --flops, --time-us and --dtype"
        found.append(f"{quantity(rate, 'flop/s')}{of_peak}")
    if (share := value("trace__share_of_kernel_time_pct")) is not None:
        found.append(f"{share:.1f} % of the kernel time in launches: {value('trace__launches') or 0:.0f}")
    if (idle := value("trace__idle_before_ns")) is not None:
        found.append(f"GPU idle {quantity(idle, 'ns')} before it")
    return found


def open_text(diagnosis: Diagnosis) -> str:
    """What stays open without counters, the usual suspects by name, and where the command for them is."""
    names = [item.bottleneck for item in diagnosis.missing]
    suspects = [name for name in SUSPECTS if name in names]
    return f"counters are needed for {len(names)} more, {', '.join(suspects)} among them; --plan prints the ncu command, --json the metrics"


def limiter(profile: Profile) -> str:
    """The resource, or the tied ones, with the smallest block limit."""
    limits = {name: limit for name in LIMIT_WORDS if (limit := profile.value(f"launch__occupancy_limit_{name}")) is not None}
    return " and ".join(LIMIT_WORDS[name] for name, limit in limits.items() if limit == min(limits.values()))


def wanted(profile: Profile, gpu: Gpu | None) -> list[str]:
    """What a person could add without counters, the most telling first."""
    asks = []
    value = profile.value
    if gpu is None and not profile.compute_capability:
        asks.append("--gpu NAME (limits and peaks)")
    elif gpu and gpu.product is None:
        asks.append("--gpu with a product's name (SMs, bandwidth)")
    if value("launch__registers_per_thread") is None:
        asks.append("--ptxas LOG (registers, spills)")
    if threads_of(profile) is None:
        asks.append("--block (occupancy)")
    if profile.grid is None and value("launch__grid_size") is None:
        asks.append("--grid (waves)")
    if value("timed__duration_ns") is None and value("gpu__time_duration.sum") is None:
        asks.append("--time-us")
    if value("timed__bytes") is None and value("timed__flops") is None:
        asks.append("--bytes, --flops and --dtype (share of the peaks)")
    elif value("timed__flops") is not None and DTYPE not in profile.attributes:
        asks.append("--dtype (which peak)")
    return asks


def weak_json(profile: Profile, gpu: Gpu | None) -> dict[str, Any]:
    """Form, values and wishes of a profile without counters; empty for one with counters."""
    if not is_weak(profile):
        return {}
    values = [{"metric": name, "value": m.value, "unit": m.unit, "location": m.location} for name, m in sorted(profile.metrics.items())]
    advisories = [{"code": rule.name, "text": rule.text, "location": rule.location} for rule in profile.rules]
    return {"input": form_of(profile), "basis": WEAK, "facts": values, "advisories": advisories, "would_tell_more": wanted(profile, gpu)}


def for_gpu(report: Report, gpu: Gpu | None) -> Report:
    """Without the compilations for other architectures, where the same kernel was compiled for this one as well."""
    if gpu is None or not any(is_weak(profile) for profile in report.profiles):
        return report
    own = {profile.signature for profile in report.profiles if profile.compute_capability == gpu.compute_capability}
    kept = tuple(p for p in report.profiles if p.compute_capability in (None, gpu.compute_capability) or p.signature not in own)
    dropped = len(report.profiles) - len(kept)
    note = (f"{dropped} compilations for other architectures than {gpu.compute_capability} left out",) if dropped else ()
    return dataclasses.replace(report, profiles=kept, notes=report.notes + note)


def leading(report: Report) -> Report:
    """Of a trace or summary the kernels with most of the time."""
    shares = [profile.value("trace__share_of_kernel_time_pct") for profile in report.profiles]
    if any(share is None for share in shares):
        return report
    kept, sum_pct = 0, 0.0
    for share in shares:
        if kept and (sum_pct >= LEADING_SHARE_PCT or kept == LEADING_MOST):
            break
        kept, sum_pct = kept + 1, sum_pct + (share or 0.0)
    rest = len(shares) - kept
    rest_pct = sum(share or 0.0 for share in shares[kept:])  # with those kept less than 100 where a part of a table was given
    note = (f"left out: {rest} with {rest_pct:.1f} % of the kernel time together; --kernel-name or --json shows them",) if rest else ()
    return dataclasses.replace(report, profiles=report.profiles[:kept], notes=report.notes + note)
