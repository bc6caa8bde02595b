"""What on this machine can read a binary report: NVIDIA's Python module, or `ncu` itself."""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

MODULE = "ncu_report"
INSTALLS = (
    ("/", "opt/nvidia/nsight-compute/*"),
    ("/", "usr/local/cuda*/nsight-compute*"),
    ("/", "usr/local/NVIDIA-Nsight-Compute*"),
    ("/Applications", "NVIDIA Nsight Compute*.app/Contents/MacOS"),
    ("C:/Program Files/NVIDIA Corporation", "Nsight Compute*"),
)
"""Folder and pattern of where Nsight Compute installs itself, one folder a version."""

IN_AN_INSTALL = ("extras/python", "python")
ABOVE_NCU = 4  # ncu is a link or a script up to three folders deep in its install


def module_folders() -> list[Path]:
    """Folders to import the module from, best first: the installed package, then Nsight Compute installs, newest first."""
    found = [*_package(), *(folder for install in installs() for folder in _inside(install))]
    return list(dict.fromkeys(found))


def _package() -> Iterator[Path]:
    """The folder that holds the package; the package is found and not imported."""
    spec = importlib.util.find_spec(MODULE)
    if spec and spec.origin:
        file = Path(spec.origin)
        yield file.parent.parent if file.name == "__init__.py" else file.parent


def installs() -> list[Path]:
    """Folders of Nsight Compute on this machine, the one of `ncu` on PATH first, then newest first."""
    placed = [path for root, pattern in INSTALLS if Path(root).is_dir() for path in Path(root).glob(pattern) if path.is_dir()]
    newest = sorted(placed, key=lambda path: (_version(path), str(path)), reverse=True)
    own = Path(ncu).resolve().parents[:ABOVE_NCU] if (ncu := shutil.which("ncu")) else []
    return [*(folder for folder in own if any(_inside(folder))), *newest]


def _inside(install: Path) -> Iterator[Path]:
    return (install / place for place in IN_AN_INSTALL if (install / place / f"{MODULE}.py").is_file())


def _version(path: Path) -> tuple[int, ...]:
    """`2025.3.1` in a folder's name as numbers; of the toolkit, for an install that says no version of its own."""
    numbers = re.findall(r"\d+(?:\.\d+)*", str(path))
    return tuple(int(part) for part in numbers[-1].split(".")) if numbers else ()


def ncu_command() -> str | None:
    """The profiler's path, on PATH or in an install."""
    found = shutil.which("ncu")
    return found or next((str(install / "ncu") for install in installs() if (install / "ncu").is_file()), None)
