"""Options of `diagnose` for what a person knows of a kernel without counters."""

from __future__ import annotations

from typing import Annotated

import typer

Ptxas = Annotated[str | None, typer.Option("--ptxas", help="Output of ptxas -v or cuobjdump --dump-resource-usage, joined by kernel name.")]
Grid = Annotated[str | None, typer.Option("--grid", help="Grid: 8192, 128x64 or 128,64,1.")]
Block = Annotated[str | None, typer.Option("--block", help="Block: 256 or 32x8.")]
Smem = Annotated[int | None, typer.Option("--smem", help="Dynamic shared memory of a block, bytes.")]
Registers = Annotated[int | None, typer.Option("--registers", help="Registers per thread.")]
TimeUs = Annotated[float | None, typer.Option("--time-us", help="Measured time of one launch, microseconds.")]
Bytes = Annotated[float | None, typer.Option("--bytes", help="Bytes that one launch must read and write.")]
Flops = Annotated[float | None, typer.Option("--flops", help="Operations of one launch; a multiply-add counts two.")]
Dtype = Annotated[str | None, typer.Option("--dtype", help="Type whose peak the operations are held against: fp32, bf16, fp8 ...")]
ZooCase = Annotated[str | None, typer.Option("--case", help="Bytes and operations of a zoo case: softmax/M65536-N1024-bf16.")]
