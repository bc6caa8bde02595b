"""Tiny corpora written by the tests, with the real vocabulary and GPU table."""

from __future__ import annotations

import shutil
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

COMMON = """license: Apache-2.0
reviewed: 2026-11-29
sources: [{title: A data sheet}]
"""

PAGES = {
    "kernel_wiki/techniques/swizzle.md": """---
title: Shared-memory swizzle
summary: XOR the column with the row so that a column of a tile falls into 32 different banks.
bottlenecks: [shared-bank-conflict]
techniques: [swizzle]
families: [transpose, gemm]
COMMON---

## Idea

Store element (r, c) at column c ^ r. A warp that reads a column touches 32 banks.

## When it does not

Rows that are read whole have no conflict to begin with.
""",
    "kernel_wiki/techniques/tma-bulk-copy.md": """---
title: Bulk copy by the tensor memory accelerator
summary: One thread starts the copy of a whole tile, and an mbarrier counts its bytes.
bottlenecks: [latency-long-scoreboard]
techniques: [tma-bulk-copy]
requires: [tma]
fallbacks: [{instead_of: tma, use: [cp-async], how: Copy with cp.async in 16-byte pieces}]
COMMON---

## Idea

The copy engine generates the addresses, so no register and no issue slot is spent on them.
""",
    "kernel_wiki/guides/shared-bank-conflict.md": """---
title: Reading shared-memory bank conflicts
summary: More wavefronts than requests on shared memory, and what cures it.
bottlenecks: [shared-bank-conflict]
signatures:
  - all: [{metric: conflicts / wavefronts, op: ">=", value: 0.1, source: NVIDIA rule SharedMemoryConflicts}]
severity: 100 * conflicts / wavefronts
cures: [swizzle, padding]
COMMON---

## How it shows

Wavefronts exceed requests.

## Cures in the order to try

Padding first, swizzle where 16-byte accesses must stay aligned.
""",
    "kernel_wiki/hardware/wgmma.md": """---
title: Warpgroup MMA
summary: Four warps multiply tiles from shared memory asynchronously.
techniques: [wgmma-pipeline]
requires: [wgmma]
COMMON---

## What it demands

A warpgroup of 128 threads and 128-byte swizzled tiles.
""",
    "isa/wgmma/wgmma.mma_async.md": """---
title: wgmma.mma_async, a tile product by a warpgroup
summary: Multiplies a 64-row tile from shared memory or registers into float32 accumulators.
mnemonic: wgmma.mma_async
ptx: "8.0"
targets: sm_90a only
requires: [wgmma]
techniques: [wgmma-pipeline]
families: [gemm]
COMMON---

## Syntax

wgmma.mma_async.sync.aligned.shape.dtype.atype.btype d, a-desc, b-desc
""",
    "pr_archive/acme--kernels/7.md": """---
title: "Transpose: tile rows padded by one word"
summary: A 32 x 32 tile without padding made every column read a 32-way conflict.
families: [transpose]
techniques: [padding]
bottlenecks: [shared-bank-conflict]
languages: [cuda]
repo: acme/kernels
number: 7
merged: 2025-01-02
commit: 0123456789ab
paths: [src/transpose.cu]
fate: {status: reverted, by: ["#9"]}
COMMON---

## Idea

One more word a row.
""",
    "kernel_wiki/zoo/transpose/padded.md": """---
title: Transpose through a padded tile
summary: Reads rows and writes rows; the tile between them has 33 columns.
families: [transpose]
techniques: [padding, shared-memory-tiling, coalescing]
bottlenecks: [uncoalesced-access]
dtypes: [fp32]
languages: [cuda]
targets: [sm_80]
license: Apache-2.0
reviewed: 2026-11-29
---

## What makes it fast

Both global accesses are coalesced.
""",
}

CODE = {
    "kernel_wiki/zoo/transpose/padded.py": '"""Transpose."""\n\n\ndef run(x):\n    return x.t().contiguous()\n',
    "kernel_wiki/zoo/transpose/padded.cu": (
        'extern "C" __global__ void padded(const float* x, float* y, int n) {\n'
        "  __shared__ float tile[32][33];\n  tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * n + threadIdx.x];\n"
        "  __syncthreads();\n  y[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];\n}\n"
    ),
    "kernel_wiki/zoo/transpose/contract.py": '"""The contract."""\n',
}


def write_corpus(root: Path, **edits: str | None) -> Path:
    """The tiny corpus under `root`; an edit replaces the page at that path, None leaves it out."""
    (root / "kernel_wiki").mkdir(parents=True, exist_ok=True)
    for name in ("vocabulary.yaml", "gpus.yaml"):
        shutil.copy(REPOSITORY / "kernel_wiki" / name, root / "kernel_wiki" / name)
    for path, text in {**PAGES, **CODE, **edits}.items():
        if text is not None:
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("COMMON", COMMON), encoding="utf-8")
    return root
