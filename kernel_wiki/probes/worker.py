"""`python -m kernel_wiki.probes.worker REQUEST RESULTS [--wait]`: some probes of one family, a JSON line before and after each.

A failure that leaves the CUDA context usable is one probe's; any other ends the process, and the parent goes on with the rest.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

FATAL_EXIT = 3


def main(arguments: list[str]) -> int:
    """Import, wait for the word if told to, run."""
    from . import families, measure
    from .evaluate import probe_hash

    request = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    probes = {each.name: each for each in families.load()[request["family"]]}
    if "--wait" in arguments:
        sys.stdin.readline()
    with Path(arguments[1]).open("a", encoding="utf-8") as results:

        def say(**line: object) -> None:
            results.write(json.dumps(line) + "\n")
            results.flush()

        for name, cubin in request["probes"]:
            say(begin=name)
            try:
                found = {"hash": probe_hash(probes[name]), **measure.run(probes[name], Path(cubin))}
            except Exception as error:
                found = {"verdict": "crashed", "hint": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
            say(end=name, found=found)
            if found["verdict"] == "crashed" and not _context_is_usable():
                return FATAL_EXIT
    return 0


def _context_is_usable() -> bool:
    import torch

    try:
        torch.zeros(1, device="cuda").add_(1).item()
    except Exception:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
