"""How many blocks of a kernel one SM can hold, from its resources: the arithmetic of NVIDIA's occupancy calculator.

Rules as in `cuda_occupancy.h` of CUDA 13.0: registers are given to whole warps in steps of 256 and by sub-partition, a launch is refused
when its block with warps rounded up to the sub-partitions needs more than the register file, shared memory comes in steps of 128 bytes
(256 before compute capability 8.0), and from 8.0 the driver keeps 1 KiB of it for itself in each block. Left out: cluster launches, the
limit by barriers, and the carve-out, which is taken as the largest that the SM allows.
"""

from __future__ import annotations

from dataclasses import dataclass

from indexer.gpus import Capability

WARP = 32  # threads
SUB_PARTITIONS = 4  # of an SM, every compute capability from 7.0
REGISTER_STEP = 256  # registers that a warp's allocation is rounded up to
SHARED_STEP, OLD_SHARED_STEP = 128, 256  # bytes; the old one before compute capability 8.0
RESERVED_SHARED_BYTES = 1024  # per block, from compute capability 8.0
FIRST_RESERVING = 80  # compute capability x 10


@dataclass(frozen=True, slots=True)
class BlockLimits:
    """Resident blocks per SM that each resource allows; None where the resource is not known."""

    warps: int
    blocks: int
    registers: int | None = None
    shared: int | None = None


def block_limits(
    capability: Capability, sm: int, threads: int, registers: int | None = None, shared_bytes: int | None = None
) -> BlockLimits:
    """The limits for blocks of `threads` threads.

    Args:
        sm: compute capability x 10.
        registers: per thread.
        shared_bytes: static and dynamic shared memory of a block together.
    """
    warps = _steps(threads, WARP)
    return BlockLimits(
        warps=capability.warps_per_sm // warps,
        blocks=capability.blocks_per_sm,
        registers=None if registers is None else _by_registers(capability, warps, registers),
        shared=None if shared_bytes is None else _by_shared(capability, sm, shared_bytes),
    )


def warps_by_registers(capability: Capability, registers: int) -> int:
    """Warps that the register file of one SM holds, whatever the block size; at most what the SM allows."""
    per_warp = _steps(max(registers, 1) * WARP, REGISTER_STEP) * REGISTER_STEP
    return min(capability.warps_per_sm, capability.registers_per_sm // SUB_PARTITIONS // per_warp * SUB_PARTITIONS)


def _by_registers(capability: Capability, warps: int, registers: int) -> int:
    """0 where a single block does not fit; without the warp limit, as Nsight Compute prints it."""
    if registers == 0:
        return capability.blocks_per_sm
    per_warp = _steps(registers * WARP, REGISTER_STEP) * REGISTER_STEP
    if per_warp * _steps(warps, SUB_PARTITIONS) * SUB_PARTITIONS > capability.registers_per_sm:
        return 0
    return capability.registers_per_sm // SUB_PARTITIONS // per_warp * SUB_PARTITIONS // warps


def _by_shared(capability: Capability, sm: int, shared_bytes: int) -> int:
    """The block limit where no shared memory is used at all."""
    reserved = RESERVED_SHARED_BYTES if sm >= FIRST_RESERVING else 0
    step = SHARED_STEP if sm >= FIRST_RESERVING else OLD_SHARED_STEP
    taken = _steps(shared_bytes + reserved, step) * step
    return capability.smem_per_sm_bytes // taken if taken else capability.blocks_per_sm


def _steps(amount: int, step: int) -> int:
    return -(-amount // step)
