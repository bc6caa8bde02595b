"""Reads one binary report with NVIDIA's `ncu_report` module and writes JSON lines; a program of its own, since the module is proprietary
code on a file that anyone may have made. It imports nothing of this project.

    python -I rep_worker.py REPORT FOLDER_OF_MODULE MEMORY_BYTES CPU_S

Lines: `{"table": k, "names": [...], "units": [...]}` before the first launch that has these metrics, then for a launch `{"launch": ...}`
with its values by that table, and at the end `{"done": n}`. A fault that Python sees is `{"fault": "import" | "load", "text": ...}`.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections import Counter

KEPT_LINES = 40  # as in source_lines.py
LISTS = ("group:", "breakdown:")
"""Metrics whose value is a list of other metrics' names."""
NOTHING = ("", "no data")
"""Words that the module gives for a metric without a value."""
LAST = 10**6  # behind every section
STALLED = "smsp__pcsamp_warps_issue_stalled_"
MAX_OUTPUT_BYTES = 2**31
WORKLOADS = {"KERNEL": "kernel", "RANGE": "range", "CMDLIST": "cmdlist", "GRAPH": "graph", "SUBGRID_SCHEDULE": "graph"}
SEVERITIES = {"NONE": "INF", "OK": "INF", "OPTIMIZATION": "OPT", "WARNING": "WRN", "ERROR": "ERR"}
SCOPES = {"LOCAL": "local", "GLOBAL": "global"}


def main(arguments):
    report, folder, memory_bytes, cpu_s = arguments
    bound_resources(int(memory_bytes), int(cpu_s))
    try:
        sys.path.insert(0, folder)
        import ncu_report
    except BaseException as error:
        return put({"fault": "import", "text": words(error)})
    try:
        context = ncu_report.load_report(report)
        put({"done": put_launches(ncu_report, context)})
    except Exception as error:
        put({"fault": "load", "text": words(error)})


def bound_resources(memory_bytes, cpu_s):
    """Bounds memory, time and output where the system can; no core file."""
    try:
        import resource
    except ImportError:
        return
    bounds = ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_CPU, cpu_s), (resource.RLIMIT_FSIZE, MAX_OUTPUT_BYTES))
    for what, limit in (*bounds, (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(what)[1]
        allowed = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        with contextlib.suppress(ValueError, OSError):  # macOS has no bound on address space
            resource.setrlimit(what, (allowed, allowed))


def put(record):
    sys.stdout.write(json.dumps(record, allow_nan=False) + "\n")


def words(error):
    return f"{type(error).__name__}: {error}"


def put_launches(module, context):
    tables = {}
    count = 0
    for range_number in range(context.num_ranges()):
        found = context.range_by_idx(range_number)
        for number in range(found.num_actions()):
            put_launch(module, found.action_by_idx(number), count, tables)
            count += 1
    return count


def put_launch(module, action, number, tables):
    names, units, values, texts, missing = read_metrics(action)
    key = (tuple(names), tuple(units))
    if key not in tables:
        tables[key] = len(tables)
        put({"table": tables[key], "names": names, "units": units})
    lines, sampled = hot_lines(action)
    sections = {section.identifier(): optional(section, "order", LAST) for section in optional(action, "sections", [])}
    put(
        {
            "launch": number,
            "table": tables[key],
            "values": values,
            "texts": texts,
            "missing": missing,
            "name": action.name(action.NameBase_DEMANGLED),
            "workload": workload(action),
            "rules": rules(module, action, sections),
            "sections": list(sections),
            "lines": lines,
            "sampled": sampled,
        }
    )


def optional(thing, method, default):
    """What `thing.method()` gives; `default` in modules too old to have it."""
    return getattr(thing, method)() if hasattr(thing, method) else default


def read_metrics(action):
    """Names, units and values of the numbers, then the words by name, then the names without a value."""
    names, units, values, texts, missing = [], [], [], {}, []
    for name in sorted(action.metric_names()):
        if name.startswith(LISTS):
            continue
        metric = action.metric_by_name(name)
        value = metric.value() if metric is not None and optional(metric, "has_value", True) else None
        if isinstance(value, str) and value.strip() in NOTHING:
            missing.append(name)
        elif isinstance(value, str):
            texts[name] = value
        elif value is None or not math.isfinite(value):
            missing.append(name)
        else:
            names.append(name)
            units.append(metric.unit() or "")
            values.append(value)
    return names, units, values, texts, missing


def workload(action):
    kind = optional(action, "workload_type", None)
    return next((word for name, word in WORKLOADS.items() if kind == getattr(action, f"WorkloadType_{name}", ())), "kernel")


def rules(module, action, sections):
    """The rules that say something, section after section as the details page prints them."""
    found = [rule(module, result) for result in optional(action, "rule_results_as_dicts", [])]
    return sorted((said for said in found if said["text"]), key=lambda said: sections.get(said["section"], LAST))


def rule(module, result):
    message, speedup = result.get("rule_message") or {}, result.get("speedup_estimation") or {}
    return {
        "name": result.get("rule_identifier", ""),
        "section": result.get("section_identifier", ""),
        "severity": constant(SEVERITIES, message.get("type"), module, "MsgType", "INF"),
        "text": message.get("message", ""),
        "speedup": speedup.get("speedup"),
        "scope": constant(SCOPES, speedup.get("type"), module, "SpeedupType", ""),
    }


def constant(names, value, module, enumeration, default):
    """The word for a value of one of the module's enumerations, which it has as a class or as `MsgType_OK`, by version."""
    for name, word in names.items():
        known = getattr(getattr(module, enumeration, None), name, getattr(module, f"{enumeration}_{name}", None))
        if known is not None and value == known:
            return word
    return default


def hot_lines(action):
    """The lines with most samples, as dicts, and all samples: by line of source, else by instruction."""
    tally = {}
    for name in action.metric_names():
        if name.startswith(STALLED) and not name.endswith("_not_issued"):
            add_samples(action, action.metric_by_name(name), name[len(STALLED) :], tally)
    total = sum(sum(stalls.values()) for stalls in tally.values())
    hottest = sorted(tally.items(), key=lambda item: (-sum(item[1].values()), item[0]))[:KEPT_LINES]
    sources = optional(action, "source_files", {}) if hottest else {}
    return [line_record(action, place, stalls, sources) for place, stalls in hottest], total


def add_samples(action, metric, reason, tally):
    addresses = metric.correlation_ids() if metric.num_instances() else None
    for instance in range(metric.num_instances()):
        count = int(metric.as_uint64(instance))
        if count:
            address = int(addresses.as_uint64(instance))
            info = action.source_info(address)
            place = (info.file_name(), int(info.line()), 0) if info is not None and info.line() else ("", 0, address)
            tally.setdefault(place, Counter())[reason] += count


def line_record(action, place, stalls, sources):
    file, line, address = place
    code = sources[file].splitlines() if file in sources else []
    text = action.sass_by_pc(address) if address else code[line - 1] if 0 < line <= len(code) else ""
    return {"file": file, "line": line, "address": f"{address:#x}" if address else "", "text": text.strip(), "stalls": dict(stalls)}


if __name__ == "__main__":
    main(sys.argv[1:])
