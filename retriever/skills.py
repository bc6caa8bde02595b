"""Agent Skills copied to where an agent looks for them."""

from __future__ import annotations

import shutil
from pathlib import Path

from indexer.errors import InputError


def install_skills(root: Path, folder: Path, *, force: bool = False) -> list[Path]:
    """Copy every skill of the corpus into `folder`; the paths written, in order.

    Raises:
        InputError: a skill of that name is there already and `force` is off, or the folder cannot be written.
    """
    sources = sorted(path.parent for path in (root / "skills").glob("*/SKILL.md"))
    if not sources:
        raise InputError(f"{root / 'skills'}: no skill here")
    taken = [folder / source.name for source in sources if (folder / source.name).exists()]
    if taken and not force:
        raise InputError(f"{taken[0]}: exists already; --force replaces it")
    try:
        for source in sources:
            shutil.copytree(source, folder / source.name, dirs_exist_ok=force)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from error
    return [folder / source.name for source in sources]
