"""What a kernel computes, from its names and from the shape of its code."""

from __future__ import annotations

import re
from collections.abc import Iterable

from retriever.kernels.facts import Fact

NAME_WEIGHT, FILE_WEIGHT, STRUCTURE_WEIGHT = 4.0, 2.0, 1.5
"""A kernel's own name says most; structure decides where names are silent."""
WEAK_NAME_SHARE = 0.4
"""`add`, `sum` and `copy` often name a step of something else."""
MIN_SCORE = 0.3
MAX_FAMILIES = 3

_NAMES: tuple[tuple[str, str], ...] = (
    ("attention", r"attention|attn|flash(?:_?attn|_?attention|_?forward|_?fwd|_?bwd)?|sdpa|fmha|mha|gqa|mla|paged"),
    ("moe", r"moe|experts?|fused_?moe"),
    ("loss", r"cross_?entropy|nll|loss|kl_?div"),
    ("softmax", r"(?:log_?)?softmax"),
    ("norm", r"(?:rms|layer|group|batch|instance|l2|qk)_?norm|rms|norm(?:ali[sz]e)?"),
    ("rope", r"rope|rotary"),
    ("quantization", r"(?:de)?quant(?:i[sz]e)?|w4a16|w8a8|awq|gptq|nvfp4|mxfp[48]"),
    ("convolution", r"conv(?:[123]d|olution)?|depthwise|im2col"),
    ("linear-recurrence", r"mamba|ssm|ssd|delta_?net|delta_?rule|gla|rwkv|selective_?scan|recurrent|kda"),
    ("gemv", r"\w*gemv\w*|mat_?vec|matrix_?vector|mul_mat_vec\w*"),
    ("gemm", r"\w*gemm\w*|matmul\w*|mat_?mul|mm|bmm|addmm|linear|matrix_?mul(?:tiply)?|gemm"),
    ("sparse", r"spmv|spmm|csr|coo|sparse"),
    ("transpose", r"transpose\w*|permute|transposed"),
    ("scan", r"scan|prefix_?sum|cumsum"),
    ("sort", r"sort|top_?k|histogram\w*|hist|argsort|radix|bins?|sample|sampling"),
    ("optimizer", r"adam\w?|sgd|optimizer|lion|muon"),
    ("stencil", r"stencil|jacobi|laplac\w*|heat"),
    ("communication", r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|all2all"),
    ("embedding", r"embedding\w*|gather\w*|scatter\w*|index_?select"),
    ("activation", r"gelu|silu|swiglu|geglu|relu|sigmoid|swish|tanh|act(?:ivation)?"),
    ("reduction", r"reduc(?:e|tion)\w*|arg_?(?:max|min)|dot_?product"),
    ("elementwise", r"triad|axpy|saxpy|daxpy|vec(?:tor)?_?add|elementwise|pointwise|bias"),
    ("copy", r"memcpy|copy|clone"),
)
_WEAK_NAMES: tuple[tuple[str, str], ...] = (
    ("reduction", r"sum|mean|max|min|total"),
    ("elementwise", r"add|mul|scale|fma|map|fill"),
)
_EXP = (
    r"\b(?:__?expf?|exp2f?|expf|exp|exponential|hexp2?|h2exp)\s*\(|\bex2\.approx"
    r"|\btl\.(?:math\.)?exp2?\(|\blibdevice\.exp|\b(?:cute|ct)\.(?:math\.)?exp2?\s*\("
)
_MAX = r"\b(?:fmaxf?|max|tl\.max(?:imum)?|__hmax2?)\s*\(|\bMax\b"
_SUM = r"\+=|\btl\.sum\(|__shfl_\w+_sync"
_DOT = r"\btl\.dot(?:_scaled)?\(|\bmma\.sync|\bwgmma\.mma_async|\btcgen05\.mma|\bmma_sync\s*\(|\bcute\.gemm\s*\(|\bct\.mma\s*\("
_GATHERED_COLUMN = r"\w+\s*\[\s*col\w*\s*\[|\brow_?ptr\b|\bindptr\b"


def read_families(kernels: Iterable[tuple[str, int]], source_name: str, code: str, hints: Iterable[Fact] = ()) -> tuple[Fact, ...]:
    """Operator families, most likely first.

    Args:
        kernels: names and lines of the entry points.
        source_name: the file's name.
        code: the code of the kernels, without comments.
        hints: families that the language's own reader saw in the structure, line and reason included.
    """
    kernels = list(kernels)
    line = kernels[0][1] if kernels else 1
    scores: dict[str, float] = {}
    reasons: dict[str, Fact] = {}

    def add(family: str, weight: float, at: int, why: str) -> None:
        scores[family] = scores.get(family, 0.0) + weight
        reasons.setdefault(family, Fact(family, at, why))

    for name, at in kernels[:20]:
        for place, (family, share) in enumerate(_named(name)):
            add(family, NAME_WEIGHT * share / (1 + 0.5 * place) / len(kernels[:20]), at, f"kernel name {name}")
    stem = re.sub(r"\.\w+$", "", source_name)
    for family, share in _named(stem)[:2]:
        add(family, FILE_WEIGHT * share, line, f"file name {source_name}")
    for fact in (*hints, *_structure(code, line)):
        add(fact.id, STRUCTURE_WEIGHT / max(1, len(kernels)), fact.line, fact.why)
    order = [family for family, _ in _NAMES]
    ranked = sorted((f for f in scores if scores[f] >= MIN_SCORE), key=lambda f: (-scores[f], order.index(f), f))
    kept = [family for family in ranked if scores[family] >= scores[ranked[0]] * WEAK_NAME_SHARE]
    return tuple(reasons[family] for family in kept[:MAX_FAMILIES])


def _named(identifier: str) -> list[tuple[str, float]]:
    """Families that the words of an identifier name, strong ones first, with their share."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", identifier[:200]).lower()
    strong = [(family, 1.0) for family, words in _NAMES if re.search(rf"(?<![a-z])(?:{words})(?![a-z])", spaced)]
    return strong or [(family, WEAK_NAME_SHARE) for family, words in _WEAK_NAMES if re.search(rf"(?<![a-z])(?:{words})(?![a-z])", spaced)]


def _structure(code: str, line: int) -> list[Fact]:
    """Families that the code's operations suggest, best first."""
    exponential, largest = re.search(_EXP, code), re.search(_MAX, code)
    dot, root = re.search(_DOT, code), re.search(r"\brsqrtf?\s*\(|\brsqrt\.approx|1(?:\.0)?f?\s*/\s*sqrtf?\s*\(", code)
    if dot and exponential and largest:
        return [Fact("attention", line, "dot products around an exponential and a maximum")]
    if dot:
        return [Fact("gemm", line, f"matrix multiply: {dot[0].strip('( ')}")]
    if root and re.search(_SUM, code):
        return [Fact("norm", line, f"{root[0].strip('( ')} of a sum over the row")]
    if exponential and largest and re.search(_SUM, code):
        return [Fact("softmax", line, "exponential, maximum and sum over a row")]
    if re.search(_GATHERED_COLUMN, code):
        return [Fact("sparse", line, "columns gathered by an index array")]
    if re.search(r"\btanhf?\s*\(|\berff?\s*\(|tl\.sigmoid\(|1(?:\.0)?f?\s*/\s*\(\s*1(?:\.0)?f?\s*\+\s*_*exp", code):
        return [Fact("activation", line, "an activation function")]
    return []
