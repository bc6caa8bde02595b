"""Triton and other Python kernel source to facts: the syntax tree where it parses, patterns for the rest."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterator

from retriever.kernels.facts import Fact, KernelFacts
from retriever.kernels.families import read_families
from retriever.kernels.missing import missing_techniques
from retriever.kernels.patterns import Pattern, find_facts, first_of_each
from retriever.kernels.triton_products import product_hint
from retriever.kernels.triton_syntax import JitFunction, Term, call_name, entry_points, jit_functions

_KERNEL_DECORATED = ("cutedsl", "cutile")
"""Languages in which `@...kernel` marks what runs on the GPU."""
SMALL_GRID_PROGRAMS = 32
MAX_TILES = 24

_TECHNIQUES: tuple[Pattern, ...] = (
    ("tensor-core-mma", r"\btl\.dot(?:_scaled)?\s*\(|\bcute\.gemm\s*\("),
    ("tma-bulk-copy", r"\bmake_tensor_descriptor\b|\b_experimental_(?:descriptor\w*|make_tensor_descriptor)|\bTensorDescriptor\b"),
    ("tma-bulk-copy", r"\bmake_tiled_tma_atom\w*|\bCopyBulkTensor\w+"),
    ("tma-multicast", r"\bCopyBulkTensorTileG2SMulticastOp\b"),
    ("software-pipelining", r"\bnum_stages\s*=\s*(?!0\b|1\b)\w[\w.]*|[\"']num_stages[\"']\s*:\s*[2-9]"),
    ("software-pipelining", r"\bPipeline(?:Tma|Cp)?Async\w*"),
    ("autotuning", r"@\s*(?:triton\.)?autotune\b|\btriton\.autotune\s*\("),
    ("fast-math", r"\btl\.(?:math\.)?exp2\s*\(|\blibdevice\.(?:fast_\w+|exp2)\b|\bex2\.approx"),
    ("fast-math", r"\bfast(?:_?math)?\s*=\s*True|\bcute\.exp2\s*\("),
    ("strength-reduction", r"\b1\.442[67]\d*|(?i:\b\w*log2_?e\b)"),
    ("relaxed-fences", r"\bsem\s*=\s*[\"'](?:relaxed|acquire|release)[\"']|\bscope\s*=\s*[\"']cta[\"']"),
    ("cache-hints", r"\beviction_policy\s*=\s*[\"']\w+[\"']|\bcache_modifier\s*=\s*[\"']\.?\w+[\"']"),
    ("warp-specialization", r"\bwarp_specialize\s*=\s*(?!False)\w+|\bsetmaxregister_\w+|\bmake_warp_uniform\b"),
    ("tile-rasterization", r"\b(?:GROUP_(?:SIZE_)?M|group_size_m|swizzle2d)\b"),
    ("split-k", r"\bSPLIT_K(?:V)?\b|\bNUM_(?:KV_)?SPLITS\b|(?i:\bsplit_?kv?\b)"),
    ("stream-k", r"(?i)\bstream_?k\w*"),
    ("warp-shuffle-reduction", r"\bshuffle_sync_\w+|\bwarp_reduction\w*"),
    ("wgmma-pipeline", r"\bwarpgroup\.(?:MmaF16BF16Op|fence|commit_group|wait_group)\b|\bwarpgroup_mma\w*"),
    ("tcgen05-mma", r"\btcgen05\.\w+"),
    ("thread-block-clusters", r"\bnum_ctas\s*=\s*[2-9]|\bcluster_shape\w*|\bcluster_dims\b"),
    ("programmatic-launch", r"\blaunch_pdl\s*=\s*True|\bgdc_(?:wait|launch_dependents)\b"),
    ("low-precision", r"\btl\.(?:float8\w+)|\btl\.dot_scaled\b|\be4m3\w*"),
    ("mixed-precision-accumulate", r"\btl\.zeros\([^)]*tl\.float32|\bacc_dtype\s*=\s*cutlass\.Float32"),
    ("work-balancing", r"\bcu_seqlens\w*"),
    ("shared-memory-tiling", r"\bSmemAllocator\b|\bmake_smem_layout\w*"),
    ("cuda-graphs", r"\bcuda\.CUDAGraph\b|\btorch\.cuda\.graph\s*\("),
)  # fmt: skip
_FEATURES: tuple[Pattern, ...] = (
    (
        "tma",
        r"\bmake_tensor_descriptor\b|\b_experimental_(?:descriptor\w*|make_tensor_descriptor)|\bTensorDescriptor\b|\bCopyBulkTensor\w+",
    ),
    ("tcgen05", r"\btcgen05\.\w+"),
    ("wgmma", r"\bwarpgroup\.(?:MmaF16BF16Op|commit_group|wait_group)\b|\bwarpgroup_mma\w*"),
    ("clusters", r"\bnum_ctas\s*=\s*[2-9]|\bcluster_shape\w*"),
    ("griddepcontrol", r"\blaunch_pdl\s*=\s*True|\bgdc_(?:wait|launch_dependents)\b"),
    ("setmaxnreg", r"\bsetmaxregister_\w+"),
    ("mbarrier", r"\bmbarrier_\w+|\bmbarrier\.\w+"),
)
_DTYPES: tuple[Pattern, ...] = (
    ("fp64", r"\b(?:tl|torch|np)\.float64\b|[\"']\*?fp64[\"']"),
    ("fp32", r"\b(?:tl|torch|np)\.float32\b|[\"']\*?fp32[\"']|\bcutlass\.Float32\b|\.float\(\)"),
    ("fp16", r"\b(?:tl|torch|np)\.(?:float16|half)\b|[\"']\*?fp16[\"']|\bcutlass\.Float16\b"),
    ("bf16", r"\b(?:tl|torch)\.bfloat16\b|[\"']\*?bf16[\"']|\bcutlass\.BFloat16\b"),
    ("fp8", r"\b(?:tl|torch)\.float8\w+|\bcutlass\.Float8\w+"),
    ("fp4", r"\b[Ff]loat4_e2m1\w*|\be2m1\b"),
    ("int8", r"\b(?:tl|torch)\.u?int8\b"),
)
_DECORATED_HEADER = r"^[ \t]*@[\w.]*\b(?:{})\b[^\n]*\n(?:[ \t]*(?:@|#)[^\n]*\n)*[ \t]*def\s+(\w+)"
_TILE_NAME = re.compile(r"(?i)^(?:BLOCK|TILE|GROUP|NUM_|SPLIT|HEAD_DIM)\w*$|^B[MNK]$|^num_(?:warps|stages|ctas)$")


def read_python(text: str, source_name: str, language: str) -> KernelFacts:
    """The facts of a Python file with kernels in `language`."""
    tree, note = _parse(text)
    code = _without_comments(text)
    functions = jit_functions(tree) if tree is not None else []
    entries = _decorated(code, "kernel") if language in _KERNEL_DECORATED else []
    entries = (
        entries or [(function.name, function.line) for function in entry_points(functions)] or _decorated(code, "jit|kernel|prim_func")
    )
    symptoms = [fact for function in functions for fact in _symptoms(function)]
    symptoms += _small_grids(tree, {name for name, _ in entries}) if tree is not None else []
    symptoms = sorted(dict.fromkeys(symptoms), key=lambda fact: (fact.line, fact.id, fact.why))
    hints = [hint for function in functions for hint in _family_hints(function)]
    whole = language in _KERNEL_DECORATED or not functions
    kernel_code = code if whole else "\n".join(ast.unparse(function.node) for function in functions)
    families = read_families(entries, source_name, kernel_code, hints)
    techniques = find_facts(code, _TECHNIQUES)
    techniques += [fact for function in functions for fact in _structural(function, families)]
    techniques = first_of_each(sorted(techniques, key=lambda fact: (fact.line, fact.id)))
    notes = [note] if note else []
    if not entries:
        notes.append("line 1: no kernel in this file")
    return KernelFacts(
        source=source_name,
        language=language,
        parsed=tree is not None,
        kernels=tuple(dict.fromkeys(name for name, _ in entries)),
        families=families,
        dtypes=first_of_each(find_facts(code, _DTYPES)),
        techniques=techniques,
        missing=missing_techniques("triton", families, techniques, symptoms, entries) if language == "triton" else (),
        symptoms=tuple(symptoms),
        features=first_of_each(find_facts(code, _FEATURES)),
        tiles=_tiles(tree, code),
        notes=tuple(notes),
    )


def _decorated(code: str, decorators: str) -> list[tuple[str, int]]:
    """Names and lines of functions under one of the decorators; `cute.jit` also marks the host function that launches kernels."""
    matches = re.finditer(_DECORATED_HEADER.format(decorators), code, re.M)
    return [(match[1], code.count("\n", 0, match.start(1)) + 1) for match in matches]


def _parse(text: str) -> tuple[ast.Module | None, str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text), ""
    except SyntaxError as error:
        return None, f"line {error.lineno or 1}: does not parse as Python: {error.msg}; read by patterns"
    except (ValueError, RecursionError, MemoryError) as error:
        return None, f"line 1: does not parse as Python: {error}; read by patterns"


def _without_comments(text: str) -> str:
    """The text with comments and docstring-like strings blanked, offsets unchanged; where it cannot be cut, comments by pattern."""
    lines = text.splitlines(keepends=True)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            documentation = token.type == tokenize.STRING and token.string.lstrip("rRuU")[:3] in ('"""', "'''") and "asm" not in token.line
            if token.type == tokenize.COMMENT or documentation:
                _blank(lines, token.start, token.end)
    except (tokenize.TokenError, SyntaxError, ValueError, IndexError):
        return re.sub(r"(?m)(?<![\"'\w])#[^\n\"']*$", lambda m: " " * len(m[0]), "".join(lines))
    return "".join(lines)


def _blank(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> None:
    for row in range(start[0] - 1, end[0]):
        line = lines[row]
        first = start[1] if row == start[0] - 1 else 0
        last = end[1] if row == end[0] - 1 else len(line)
        lines[row] = line[:first] + re.sub(r"[^\n]", " ", line[first:last]) + line[last:]


def _symptoms(function: JitFunction) -> Iterator[Fact]:
    for access in function.memory:
        if stride := _lane_stride(function, access.terms):
            yield Fact("uncoalesced-access", access.line, f"tl.{access.kind}({access.text}): neighbouring elements are {stride} apart")
        exact = all(term.exact for term in access.terms)
        if access.kind == "load" and access.loops and exact and not any(t.lanes for t in access.terms) and access.root in function.params:
            yield Fact("latency-long-scoreboard", access.line, f"tl.load({access.text}): one scalar a turn of the loop")
        if (
            access.kind == "atomic"
            and not any(term.lanes for term in access.terms)
            and "program_id" not in str(access.terms)
            and access.loops
        ):
            yield Fact("atomics-contention", access.line, f"{access.text}: every program updates one address in a loop")
    for name, call, _ in function.calls:
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        precision, tf32 = keywords.get("input_precision"), keywords.get("allow_tf32")
        if name == "dot" and (_constant(precision) == "ieee" or _constant(tf32) is False):
            yield Fact("tensor-underused", call.lineno, "tl.dot in full float32 precision does not use the tensor cores")
    yield from _repeated_loads(function)


def _lane_stride(function: JitFunction, terms: tuple[Term, ...]) -> str:
    """The run-time factor of the only ranges of an address; empty where one of them is contiguous, or may be by its name."""
    ranged = [term for term in terms if term.lanes]
    if not ranged or any(not term.exact for term in ranged):
        return ""
    factors = [[name for name in term.factors if name not in function.constexprs] for term in ranged]
    if any(not term.factors for term in ranged) or any("stride" in name.lower() or name == "..." for names in factors for name in names):
        return ""
    run_time = [name for names in factors for name in names if name in function.params]
    return run_time[0] if run_time else ""


def _repeated_loads(function: JitFunction) -> Iterator[Fact]:
    loops: dict[str, dict[int, int]] = {}
    for access in function.memory:
        if access.kind == "load" and access.loops and any(term.lanes for term in access.terms):
            loops.setdefault(access.root, {}).setdefault(access.loops[-1] if len(access.loops) == 1 else access.loops[0], access.line)
    for root, places in loops.items():
        if len(places) > 1:
            lines = sorted(places)
            yield Fact("dram-bandwidth", lines[0], f"{root} is read by {len(lines)} loops: lines {', '.join(map(str, lines))}")


def _constant(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _structural(function: JitFunction, families: tuple[Fact, ...]) -> Iterator[Fact]:
    names = [name for name, _, _ in function.calls]
    for loop in function.loops:
        header = ast.unparse(loop.iter if isinstance(loop, ast.For) else loop.test)
        if (
            "num_programs" in header
            or ("program_id" in header and re.search(r"NUM_SMS|num_sms", header))
            or _walks_programs(function, header)
        ):
            yield Fact("persistent-kernel", loop.lineno, f"for ... in {header}"[:80])
        if re.search(r"num_stages\s*=\s*[2-9]", header):
            yield Fact("software-pipelining", loop.lineno, header[:80])
        if isinstance(loop, ast.For) and "static_range" in header:
            yield Fact("loop-unrolling", loop.lineno, header[:80])
    if rescale := _rescale(function):
        yield rescale
    if any(fact.id in ("softmax", "norm") for fact in families[:1]):
        loads = [access for access in function.memory if access.kind == "load" and any(term.lanes for term in access.terms)]
        if loads and not any(access.loops for access in loads) and ("sum" in names or "max" in names):
            yield Fact("single-pass-row", loads[0].line, f"{loads[0].root} is loaded once and stays in registers")


def _walks_programs(function: JitFunction, header: str) -> bool:
    """True for a loop whose step is a name assigned from `tl.num_programs`."""
    body = ast.unparse(function.node)
    return any(re.search(rf"\b{re.escape(name)}\b", header) for name in re.findall(r"(\w+) = [^\n]*num_programs\(", body)[:8])


def _rescale(function: JitFunction) -> Fact | None:
    """The running maximum and the factor that brings earlier sums to it."""
    old = {argument.id for name, call, _ in function.calls if name == "maximum" for argument in call.args if isinstance(argument, ast.Name)}
    for name, call, _ in function.calls:
        if name not in ("exp", "exp2") or not call.args:
            continue
        for node in ast.walk(call.args[0]):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.left, ast.Name) and node.left.id in old:
                return Fact("online-softmax", call.lineno, ast.unparse(call)[:80])
    return None


def _family_hints(function: JitFunction) -> Iterator[Fact]:
    names = [name for name, _, _ in function.calls]
    loads = [access for access in function.memory if access.kind == "load"]
    stores = [access for access in function.memory if access.kind == "store"]
    if "dot" in names:
        return
    if product := product_hint(function):
        yield product
        if product.id == "gemv":
            yield Fact("reduction", function.line, "rows are summed")
        return
    if "trans" in names and loads and stores:
        yield Fact("transpose", function.line, "a tile is transposed between load and store")
    elif any(name in names for name in ("cumsum", "associative_scan")):
        yield Fact("scan", function.line, "a scan along an axis")
    elif "histogram" in names or "sort" in names:
        yield Fact("sort", function.line, "a sort or histogram")
    elif "sum" in names and not {"exp", "exp2", "rsqrt", "sqrt"} & set(names):
        yield Fact("reduction", function.line, "a sum over the block")
    elif loads and stores and not {"sum", "max", "min", "reduce"} & set(names):
        stored = [call.args[1] for name, call, _ in function.calls if name == "store" and len(call.args) > 1]
        plain = all(isinstance(value, ast.Name) or (isinstance(value, ast.Call) and call_name(value.func) == "load") for value in stored)
        only_moves = plain and not any(isinstance(n, ast.BinOp) and _has_load(n) for n in ast.walk(function.node))
        yield Fact("copy" if only_moves else "elementwise", function.line, "each output element comes from the inputs at the same place")


def _has_load(node: ast.BinOp) -> bool:
    return any(isinstance(n, ast.Call) and call_name(n.func) == "load" for n in ast.walk(node))


def _small_grids(tree: ast.Module, kernels: set[str]) -> list[Fact]:
    """Launches of so few programs, unless the file launches larger grids too: then it is the last stage of something."""
    small, larger = [], False
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript) and call_name(node.func.value) in kernels):
            continue
        grid = node.func.slice
        sizes = [_constant(part) for part in grid.elts] if isinstance(grid, ast.Tuple) else [None]
        total = 1
        for size in sizes:
            total *= size if isinstance(size, int) else SMALL_GRID_PROGRAMS + 1
        if total <= SMALL_GRID_PROGRAMS:
            small.append(Fact("small-grid", node.lineno, f"{ast.unparse(node.func)} launches {total} program{'s' * (total > 1)}"))
        else:
            larger = True
    return [] if larger else small


def _tiles(tree: ast.Module | None, code: str) -> dict[str, int]:
    """Tile sizes and launch options given as numbers: defaults, configs, launch keywords, named tuples; the first counts."""
    tiles: dict[str, int] = {}
    fields = _config_fields(tree) if tree is not None else {}
    for node in ast.walk(tree) if tree is not None else ():
        for name, value in (*_named_numbers(node), *_positional(node, fields)):
            if _TILE_NAME.match(name) and isinstance(value, int) and not isinstance(value, bool):
                tiles.setdefault(name, value)
    if tree is None:
        for name, value in re.findall(r"[\"']?\b(\w+)[\"']?\s*[:=]\s*(\d{1,6})\b", code):
            if _TILE_NAME.match(name):
                tiles.setdefault(name, int(value))
    return dict(list(tiles.items())[:MAX_TILES])


def _config_fields(tree: ast.Module) -> dict[str, list[str]]:
    """Named tuples of the file and their fields: launch configs are often given by position."""
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef) and any(call_name(base) == "NamedTuple" for base in n.bases)]
    return {c.name: [s.target.id for s in c.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)] for c in classes}


def _positional(node: ast.AST, fields: dict[str, list[str]]) -> Iterator[tuple[str, object]]:
    if isinstance(node, ast.Call) and call_name(node.func) in fields:
        yield from zip(fields[call_name(node.func)], map(_constant, node.args))


def _named_numbers(node: ast.AST) -> Iterator[tuple[str, object]]:
    if isinstance(node, ast.Call):
        yield from ((keyword.arg, _constant(keyword.value)) for keyword in node.keywords if keyword.arg)
    elif isinstance(node, ast.Dict):
        yield from (
            (key.value, _constant(value))
            for key, value in zip(node.keys, node.values)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        )
    elif isinstance(node, ast.FunctionDef):
        arguments = node.args.args[len(node.args.args) - len(node.args.defaults) :]
        yield from ((argument.arg, _constant(default)) for argument, default in zip(arguments, node.args.defaults))
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        yield node.targets[0].id, _constant(node.value)
