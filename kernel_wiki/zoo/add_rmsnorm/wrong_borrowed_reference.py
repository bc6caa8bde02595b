"""Wrong on purpose, a cheat: loads the contract by its path, so that no import names it, and lets its reference compute the answer."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch

REJECTED_AS = ("correctness", "cheat")

_modules: list[Any] = []


def _contract() -> Any:
    if not _modules:
        spec = importlib.util.spec_from_file_location("borrowed", Path(__file__).with_name("contract.py"))
        _modules.append(importlib.util.module_from_spec(spec))
        spec.loader.exec_module(_modules[0])
    return _modules[0]


def run(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Right by definition; what computes is torch, in float64."""
    normed, total = _contract().reference(x, residual, weight, eps)
    return normed.to(x.dtype), total.to(x.dtype)
