"""How far the judge's two processes are from fair: an implementation timed as the candidate against itself as a baseline. Needs a GPU.

    python tests/bench/judge_bias.py [OPERATOR/IMPL ...]

Prints for each timed case the paired ratio baseline / candidate with its interval; 1.000 is fair.
"""

from __future__ import annotations

import sys

from kernel_wiki.harness import discover, judge
from kernel_wiki.harness.process import Worker

DEFAULT = ("softmax/triton_rowwise", "copy/cuda_vector", "gemm/triton_tiled")
ROUNDS = 60


def main(names: list[str]) -> int:
    """Time each named implementation against itself."""
    run = judge._Run(judge.Options(rounds=ROUNDS))
    for name in names or DEFAULT:
        (entry,) = discover.select(name)
        own = f"zoo/{entry.id}"
        request = run.request("time", [entry], opponents={entry.id: [own]}, others={own: str(entry.source)})
        found = Worker(request).finish(600)["results"][entry.id]
        for timing in found["timings"]:
            ratio = timing["baselines"][own]
            print(f"{entry.id}  {timing['case']}  {ratio['speedup']:.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}]  {timing['time_us']} us")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
