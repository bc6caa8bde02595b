"""What a text of nsys or torch.profiler is that no kernel can be read from: rows without their header, or a table of
the host's calls or of copies."""

from __future__ import annotations

import re

from retriever.reports.source import TextSource

_NSYS_ROW = re.compile(
    r"^[\s|]*\d{1,3}\.\d(?:[\s|]+[\d,]+){2}(?:(?:[\s|]+[\d,.]+){3,12}[\s|]+[^\s\d|]|[\s|]+(?:CUDA_KERNEL|MEMORY_OPER)\b)"
)
_NSYS_CSV_ROW = re.compile(r"^\d{1,3}\.\d(?:,\d+){2}(?:,\d+(?:\.\d+)?){3,6},\D")
_NSYS_COPIES = re.compile(r"^[\s|>\"]*(?:Time ?\(%\)|Total(?: Time)? ?\(\w+\))[\s|,;\"].*\b(?:Count|Operations)\b.*\b(?:Operation|Name)\b")
_TORCH_ROW = re.compile(r"(?:\d+\.\d\d%[\s|]+\d+\.\d{3}(?:us|ms|s)[\s|]+){2}")

KERNEL_SUMMARY = "nsys stats --report cuda_gpu_kern_sum,cuda_gpu_mem_time_sum REPORT.nsys-rep"


def headless(source: TextSource) -> str:
    """What the text is and what to give in its place; empty where it is nothing of these."""
    for number, line in source.lines():
        at = f"{source.name}:{number}:"
        if "Total Time" in line and "Num Calls" in line:
            return f"{at} nsys stats of the host's calls, which has no kernels; give what this prints: {KERNEL_SUMMARY}"
        if _NSYS_COPIES.match(line):
            return f"{at} nsys stats of copies and fills, which has no kernels; give what this prints: {KERNEL_SUMMARY}"
        if _NSYS_ROW.match(line) or _NSYS_CSV_ROW.match(line):
            return f"{at} rows of nsys stats without their header line; add it (Time (%), Total Time (ns), ...), or give: {KERNEL_SUMMARY}"
        if _TORCH_ROW.search(line):
            return f"{at} rows of torch.profiler without their header line; add it (Name, Self CPU %, ..., # of Calls)"
    return ""
