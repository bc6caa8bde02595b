"""What the lanes of a warp say to each other, and what a lane can know about itself."""

from __future__ import annotations

import numpy as np

from .chains import chain
from .integer import M32, signed
from .operands import default_cases, seeded
from .probe import WARP, Kernel, Probe

S, R = "isa/shuffle-vote/", "isa/reduction/"
SPECIAL = "isa/special-registers/"


def shuffle(mode: str, clamp: int):
    """d and p of every lane; `clamp` is the third operand: the segment mask in bits 8-12, the bound in 0-4."""

    def model(lanes: list[tuple[int, ...]]) -> list[tuple[int, int]]:
        bound, segment = clamp & 31, clamp >> 8 & 31
        result = []
        for lane, (value, b) in enumerate(lanes):
            first, last = lane & segment, (lane & segment) | (bound & ~segment)
            b &= 31
            source = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": first | (b & ~segment)}[mode]
            inside = source >= last if mode == "up" else source <= last
            result.append((lanes[source][0] if inside else value, int(inside)))
        return result

    return model


def shuffle_probe(mode: str, clamp: int) -> Probe:
    asm = f"{{.reg .pred p; shfl.sync.{mode}.b32 %0|p, %2, %3, {clamp:#x}, 0xffffffff; selp.u32 %1, 1, 0, p;}}"
    name = f"shfl.sync.{mode}.b32 {clamp:#x}"
    return Probe(S + "shfl.sync", name, asm, "b32 u32", "b32 u32", shuffle(mode, clamp), cases=_shuffle_cases, scope="warp")


def _shuffle_cases() -> np.ndarray:
    """40 warps: one distance for all lanes, as a source lane in half of them one for each."""
    rng = seeded("shuffle")
    values = rng.integers(0, 1 << 32, 40 * WARP, dtype=np.uint64)
    distance = np.repeat(np.arange(40, dtype=np.uint64) % np.uint64(33), WARP)
    return np.stack([values, distance], axis=1)


def _indexed_cases() -> np.ndarray:
    """Every lane asks for a lane of its own choice."""
    rng = seeded("indexed")
    return np.stack([rng.integers(0, 1 << 32, 8 * WARP, dtype=np.uint64), rng.integers(0, 32, 8 * WARP, dtype=np.uint64)], axis=1)


def few_values() -> np.ndarray:
    """Warps whose lanes hold one, two, four ... different values."""
    rng = seeded("few")
    pool = default_cases("pool", ["b32"])[:, 0]
    return np.concatenate([pool[rng.integers(0, count, WARP)] for count in (1, 1, 2, 2, 4, 8, 32, 40)])[:, None]


def predicates() -> np.ndarray:
    """All, none, one, and drawn predicates."""
    rng = seeded("predicates")
    rows = [np.ones(WARP), np.zeros(WARP), np.arange(WARP) == 7, np.arange(WARP) != 31, *(rng.integers(0, 2, WARP) for _ in range(8))]
    return np.concatenate(rows).astype(np.uint64)[:, None]


def vote(mode: str):
    def model(lanes):
        bits = [int(lane[0] != 0) for lane in lanes]
        answer = {
            "all": int(all(bits)),
            "any": int(any(bits)),
            "uni": int(len(set(bits)) == 1),
            "ballot": sum(b << i for i, b in enumerate(bits)),
        }[mode]
        return [answer] * WARP

    return model


def vote_probe(mode: str) -> Probe:
    test = "{.reg .pred p, q; setp.ne.u32 p, %1, 0; "
    tail = (
        "vote.sync.ballot.b32 %0, p, 0xffffffff;}"
        if mode == "ballot"
        else f"vote.sync.{mode}.pred q, p, 0xffffffff; selp.u32 %0, 1, 0, q;}}"
    )
    return Probe(S + "vote.sync", f"vote.sync.{mode}", test + tail, "u32", "u32", vote(mode), cases=predicates, scope="warp")


def match_any(lanes):
    return [sum(int(other == lane) << i for i, other in enumerate(lanes)) for lane in lanes]


def match_all(lanes):
    same = len(set(lanes)) == 1
    return [(M32 if same else 0, int(same))] * WARP


REDUCTIONS = {
    "add.u32": lambda values: sum(values),
    "add.s32": lambda values: sum(values),
    "min.u32": min,
    "max.u32": max,
    "min.s32": lambda values: min(map(signed, values)),
    "max.s32": lambda values: max(map(signed, values)),
    "and.b32": lambda values: int(np.bitwise_and.reduce(values)),
    "or.b32": lambda values: int(np.bitwise_or.reduce(values)),
    "xor.b32": lambda values: int(np.bitwise_xor.reduce(values)),
}


def redux_probe(operation: str) -> Probe:
    def model(lanes):
        return [REDUCTIONS[operation]([lane[0] for lane in lanes])] * WARP

    return Probe(
        R + "redux.sync",
        f"redux.sync.{operation}",
        f"redux.sync.{operation} %0, %1, 0xffffffff;",
        "b32",
        "b32",
        model,
        cases=lambda: default_cases("redux", ["b32"]),
        scope="warp",
    )


def lanes() -> np.ndarray:
    return np.arange(2 * WARP, dtype=np.uint64)[:, None]


def lane_register(name: str, function) -> Probe:
    """A special register that depends on the lane alone."""
    asm = f"mov.u32 %0, %%{name}; add.u32 %0, %0, %1; sub.u32 %0, %0, %1;"
    return Probe(
        SPECIAL + "warp",
        f"%{name}",
        asm,
        "u32",
        "u32",
        lambda row: [function(i) & M32 for i in range(WARP)],
        cases=lanes,
        scope="warp",
    )


def _counts(*arrays: np.ndarray) -> np.ndarray:
    return np.array([1, 0, 0x0000FF00, 1], dtype=np.uint32)


ELECT = """
    u32 leader = 0, lane = 77;
    const u32 members = in0[0];
    if (members >> lane_id() & 1)
        asm volatile("{.reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p;}" : "=r"(lane), "=r"(leader) : "r"(members) : "memory");
    const u32 leaders = __ballot_sync(0xFFFFFFFF, leader);
    const u32 told = __ballot_sync(0xFFFFFFFF, (members >> lane_id() & 1) && (leaders >> lane & 1));
    if (lane_id() == 0) out[0] = __popc(leaders), out[1] = leaders & ~members, out[2] = told, out[3] = (leaders & (leaders - 1)) == 0;
"""

ACTIVE = """
    u32 seen = 0;
    const u32 wanted = in0[0];
    if (wanted >> lane_id() & 1) asm volatile("activemask.b32 %0;" : "=r"(seen) :: "memory");
    // Lanes of one branch may run apart: what every one of them sees must hold it and nothing outside the branch.
    const bool fine = (wanted >> lane_id() & 1) ? (seen >> lane_id() & 1) && !(seen & ~wanted) : seen == 0;
    out[lane_id()] = fine;
"""

BAR_WARP = """
    __shared__ u32 words[32];
    for (u32 round = 0; round < 64; ++round) {
        words[lane_id()] = in0[lane_id()] + round;
        asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
        out[lane_id()] += words[(lane_id() + round) % 32];
        asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    }
    out[lane_id()] -= 0xC3C3C3C3u;
"""


def _bar_warp(values: np.ndarray) -> np.ndarray:
    rounds = [np.roll(values, -(r % 32)) + np.uint32(r) for r in range(64)]
    return np.sum(np.stack(rounds), axis=0, dtype=np.uint32)


REGISTERS = """
    u32 tid, ntid, ctaid, nctaid, warps, dynamic, total, smid, nsmid, warpid;
    u64 first, second, time0, time1;
    asm volatile("mov.u32 %0, %%tid.x; mov.u32 %1, %%ntid.x; mov.u32 %2, %%ctaid.x; mov.u32 %3, %%nctaid.x;"
                 : "=r"(tid), "=r"(ntid), "=r"(ctaid), "=r"(nctaid));
    asm volatile("mov.u32 %0, %%nwarpid; mov.u32 %1, %%dynamic_smem_size; mov.u32 %2, %%total_smem_size; mov.u32 %3, %%smid;"
                 : "=r"(warps), "=r"(dynamic), "=r"(total), "=r"(smid));
    asm volatile("mov.u32 %0, %%nsmid; mov.u32 %1, %%warpid; mov.u64 %2, %%clock64; mov.u64 %3, %%globaltimer;"
                 : "=r"(nsmid), "=r"(warpid), "=l"(first), "=l"(time0) :: "memory");
    for (int i = 0; i < 40; ++i) asm volatile("nanosleep.u32 200;" ::: "memory");
    asm volatile("mov.u64 %0, %%clock64; mov.u64 %1, %%globaltimer;" : "=l"(second), "=l"(time1) :: "memory");
    u32* mine = out + (ctaid * ntid + tid) * 10;
    mine[0] = tid, mine[1] = ntid, mine[2] = ctaid, mine[3] = nctaid, mine[4] = dynamic;
    mine[5] = total >= dynamic, mine[6] = smid < nsmid, mine[7] = warpid < warps, mine[8] = second > first, mine[9] = time1 >= time0;
"""


def _registers() -> np.ndarray:
    rows = [[t, 64, c, 3, 4096, 1, 1, 1, 1, 1] for c in range(3) for t in range(64)]
    return np.array(rows, dtype=np.uint32).ravel()


def words(count: int, name: str) -> np.ndarray:
    """Drawn 32-bit words."""
    return seeded(name).integers(0, 1 << 32, count, dtype=np.uint64).astype(np.uint32)


PROBES = (
    *(shuffle_probe(mode, 0 if mode == "up" else 31) for mode in ("up", "down", "bfly", "idx")),
    *(shuffle_probe(mode, 0x1800 | (0 if mode == "up" else 7)) for mode in ("up", "down", "idx")),
    Probe(
        S + "shfl.sync",
        "shfl.sync.idx.b32 any lane",
        "{.reg .pred p; shfl.sync.idx.b32 %0|p, %2, %3, 31, 0xffffffff; selp.u32 %1, 1, 0, p;}",
        "b32 u32",
        "b32 u32",
        shuffle("idx", 31),
        cases=_indexed_cases,
        scope="warp",
    ),
    *(vote_probe(mode) for mode in ("all", "any", "uni", "ballot")),
    Probe(
        S + "match.sync",
        "match.any.sync.b32",
        "match.any.sync.b32 %0, %1, 0xffffffff;",
        "b32",
        "b32",
        match_any,
        cases=few_values,
        scope="warp",
    ),
    Probe(
        S + "match.sync",
        "match.all.sync.b32",
        "{.reg .pred p; match.all.sync.b32 %0|p, %2, 0xffffffff; selp.u32 %1, 1, 0, p;}",
        "b32 u32",
        "b32",
        match_all,
        cases=few_values,
        scope="warp",
    ),
    *(redux_probe(operation) for operation in REDUCTIONS),
    Kernel(S + "elect.sync", "elect.sync", ELECT, lambda: [np.array([0x0000FF00], dtype=np.uint32)], (4, "uint32"), _counts),
    Kernel(
        S + "activemask",
        "activemask.b32",
        ACTIVE,
        lambda: [np.array([0x0F0F1234], dtype=np.uint32)],
        (32, "uint32"),
        lambda mask: np.ones(32, dtype=np.uint32),
    ),
    Kernel("isa/barrier/bar.warp.sync", "bar.warp.sync", BAR_WARP, lambda: [words(32, "bar.warp")], (32, "uint32"), _bar_warp),
    lane_register("laneid", lambda lane: lane),
    lane_register("lanemask_eq", lambda lane: 1 << lane),
    lane_register("lanemask_lt", lambda lane: (1 << lane) - 1),
    lane_register("lanemask_le", lambda lane: (2 << lane) - 1),
    lane_register("lanemask_gt", lambda lane: M32 & ~((2 << lane) - 1)),
    lane_register("lanemask_ge", lambda lane: M32 & ~((1 << lane) - 1)),
    *(
        Kernel(SPECIAL + page, name, REGISTERS, list, (1920, "uint32"), _registers, grid=3, block=64, smem_bytes=4096)
        for page, name in (
            ("clocks", "%clock64 and %globaltimer never run backwards"),
            ("environment", "%dynamic_smem_size %total_smem_size"),
            ("sm", "%smid below %nsmid"),
            ("thread-and-block", "%tid %ntid %ctaid %nctaid"),
        )
    ),
    *chain(S + "shfl.sync", "shfl.sync.bfly.b32", "shfl.sync.bfly.b32 $x, $x, 1, 31, 0xffffffff;", "SHFL"),
    *chain(S + "shfl.sync", "shfl.sync.idx.b32", "shfl.sync.idx.b32 $x, $x, $x, 31, 0xffffffff;", "SHFL"),
    *chain(R + "redux.sync", "redux.sync.add.u32", "redux.sync.add.u32 $x, $x, 0xffffffff;", "REDUX", count=64),
    *chain(
        R + "redux.sync",
        "redux.sync.max.u32 add pair",
        "redux.sync.max.u32 $x, $x, 0xffffffff; add.u32 $x, $x, $a;",
        "REDUX|CREDUX",
        count=64,
    ),
    *chain(
        S + "vote.sync",
        "vote.sync.ballot.b32 setp pair",
        "setp.ne.u32 p, $x, $a; vote.sync.ballot.b32 $x, p, 0xffffffff;",
        "VOTE",
        prelude=".reg .pred p;",
        count=128,
        most=2,
    ),
    *chain(S + "match.sync", "match.any.sync.b32 one value", "match.any.sync.b32 $x, $x, 0xffffffff;", "MATCH", count=64),
    *chain(
        S + "match.sync",
        "match.any.sync.b32 32 values",
        "match.any.sync.b32 $x, $x, 0xffffffff; add.u32 $x, $x, $a;",
        "MATCH",
        count=64,
        seeds=(3, 5, 0, 0, 0, 0, 1),
        note=", each with an add; every lane another value",
    ),
)
