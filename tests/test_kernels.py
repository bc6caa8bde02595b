"""Reading kernel source: families, techniques, symptoms and what is missing, from small kernels, the zoo and the report kernels."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.vocabulary import load_vocabulary
from retriever.kernels import cuda_patterns, ptx, triton_source
from retriever.kernels.facts import Fact, KernelFacts
from retriever.kernels.families import _NAMES, _WEAK_NAMES
from retriever.kernels.lanes import bank_conflict_degree, combine, integer, sectors
from retriever.kernels.missing import EXPECTED
from retriever.kernels.read import MAX_READ_CHARS, detect_language, read_kernel

ROOT = Path(__file__).parents[1]
DATA = Path(__file__).parent / "data" / "kernels"
ZOO_FAMILIES = {
    "softmax": "softmax", "add_rmsnorm": "norm", "attention": "attention", "copy": "copy", "gemm": "gemm", "sum": "reduction",
    "transpose": "transpose", "triad": "elementwise",
}  # fmt: skip


@cache
def facts_of(path: Path) -> KernelFacts:
    return read_kernel(path.read_text(encoding="utf-8"), path.name)


def ids(facts: tuple[Fact, ...]) -> list[str]:
    return list(dict.fromkeys(fact.id for fact in facts))


def lines(facts: tuple[Fact, ...], word: str) -> list[int]:
    return [fact.line for fact in facts if fact.id == word]


def why(facts: tuple[Fact, ...], word: str) -> str:
    return next(fact.why for fact in facts if fact.id == word)


# One entry a kernel: first family, techniques that it has, all its symptoms with their lines, what is missing (in part), what is not.
CASES: dict[str, tuple[str, set[str], dict[str, list[int]], set[str], set[str]]] = {
    "softmax_thread_row.cu": (
        "softmax", set(), {"uncoalesced-access": [8, 9, 10], "dram-bandwidth": [8]},
        {"single-pass-row", "warp-shuffle-reduction", "vectorized-access", "coalescing"}, {"tensor-core-mma"},
    ),
    "softmax_warp_row.cu": (
        "softmax", {"vectorized-access", "single-pass-row", "warp-shuffle-reduction", "fast-math", "loop-unrolling", "occupancy-tuning"},
        {}, set(), {"single-pass-row", "vectorized-access", "warp-shuffle-reduction"},
    ),
    "swap_naive.cu": (
        "transpose", set(), {"uncoalesced-access": [5]}, {"shared-memory-tiling", "padding", "coalescing"}, {"tensor-core-mma"},
    ),
    "transpose_tiled.cu": (
        "transpose", {"shared-memory-tiling"}, {"shared-bank-conflict": [9]}, {"padding", "vectorized-access"}, {"coalescing"},
    ),
    "transpose_padded.cu": (
        "transpose", {"shared-memory-tiling", "padding"}, {}, {"vectorized-access"}, {"padding", "coalescing"},
    ),
    "gemm_naive.cu": (
        "gemm", set(), {"l1-throughput": [7]},
        {"tensor-core-mma", "shared-memory-tiling", "register-tiling", "software-pipelining", "swizzle"}, {"warp-shuffle-reduction"},
    ),
    "gemm_tensor_core.cu": (
        "gemm",
        {"tensor-core-mma", "shared-memory-tiling", "register-tiling", "async-copy", "swizzle", "software-pipelining", "occupancy-tuning",
         "mixed-precision-accumulate", "vectorized-access"},
        {}, {"tma-bulk-copy", "warp-specialization", "persistent-kernel"}, {"tensor-core-mma", "swizzle", "async-copy", "register-tiling"},
    ),
    "histogram_atomics.cu": ("sort", set(), {"atomics-contention": [4, 5]}, {"warp-aggregated-atomics"}, set()),
    "reduce_tree.cu": (
        "reduction", {"two-stage-reduction"}, {"barrier-stall": [7], "warp-divergence": [8], "small-grid": [14]},
        {"warp-shuffle-reduction", "vectorized-access"}, {"two-stage-reduction"},
    ),
    "rmsnorm_fused.cu": (
        "norm", {"warp-shuffle-reduction", "packed-math", "vectorized-access", "mixed-precision-accumulate"}, {"dram-bandwidth": [12]},
        {"single-pass-row"}, {"warp-shuffle-reduction", "vectorized-access"},
    ),
    "doubles_and_divisions.cu": (
        "reduction", {"occupancy-tuning"}, {"register-spill": [4], "compute-bound-alu": [7], "fp64-bound": [8]},
        {"vectorized-access"}, set(),
    ),
    "triton_softmax.py": (
        "softmax", {"single-pass-row"}, {}, {"fast-math"}, {"single-pass-row", "warp-shuffle-reduction", "vectorized-access"},
    ),
    "triton_matmul.py": (
        "gemm", {"tensor-core-mma", "autotuning", "software-pipelining", "tile-rasterization"}, {}, {"tma-bulk-copy", "persistent-kernel"},
        {"swizzle", "vectorized-access", "shared-memory-tiling", "tensor-core-mma"},
    ),
    "triton_flash.py": (
        "attention", {"tensor-core-mma", "online-softmax", "fast-math"}, {}, {"tma-bulk-copy", "warp-specialization"},
        {"online-softmax", "swizzle", "software-pipelining"},
    ),
    "triton_slow_columns.py": (
        "norm", set(),
        {"dram-bandwidth": [10], "latency-long-scoreboard": [11], "uncoalesced-access": [12, 16, 17], "small-grid": [21]},
        {"single-pass-row", "coalescing"}, {"warp-shuffle-reduction"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_is_read_as_what_it_is(name: str) -> None:
    family, techniques, symptoms, missing, not_missing = CASES[name]
    facts = facts_of(DATA / name)
    assert facts.parsed and not facts.notes
    assert ids(facts.families)[0] == family
    assert techniques <= set(ids(facts.techniques))
    assert {word: lines(facts.symptoms, word) for word in ids(facts.symptoms)} == symptoms
    assert missing <= set(ids(facts.missing))
    assert not not_missing & set(ids(facts.missing))
    assert not set(ids(facts.missing)) & set(ids(facts.techniques))


def test_techniques_that_are_absent_are_not_claimed() -> None:
    assert ids(facts_of(DATA / "softmax_thread_row.cu").techniques) == []
    assert ids(facts_of(DATA / "swap_naive.cu").techniques) == []
    assert ids(facts_of(DATA / "gemm_naive.cu").techniques) == []
    assert "padding" not in ids(facts_of(DATA / "transpose_tiled.cu").techniques)
    assert "swizzle" not in ids(facts_of(ROOT / "kernel_wiki/reports/integer_hash/integer_hash.cu").techniques)


def test_symptoms_say_the_stride_the_degree_and_the_lines() -> None:
    softmax = facts_of(DATA / "softmax_thread_row.cu").symptoms
    assert why(softmax, "uncoalesced-access").startswith("logits[row * n + j]: neighbouring lanes are n elements apart")
    assert why(softmax, "dram-bandwidth") == "logits is read by 3 loops: lines 8, 9, 10"
    assert "32-way conflict" in why(facts_of(DATA / "transpose_tiled.cu").symptoms, "shared-bank-conflict")
    assert "height elements apart" in why(facts_of(DATA / "swap_naive.cu").symptoms, "uncoalesced-access")
    assert "80 registers of the 32" in why(facts_of(DATA / "doubles_and_divisions.cu").symptoms, "register-spill")


def test_dtypes_features_and_tiles_are_read() -> None:
    gemm = facts_of(DATA / "gemm_tensor_core.cu")
    assert set(ids(gemm.dtypes)) == {"fp16", "fp32"}
    assert set(ids(gemm.features)) == {"cp-async", "mma-sync", "ldmatrix"}
    assert gemm.tiles == {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "kStages": 3, "__launch_bounds__": 128}
    matmul = facts_of(DATA / "triton_matmul.py")
    assert matmul.tiles == {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8, "num_stages": 3, "num_warps": 8}
    assert facts_of(DATA / "triton_flash.py").tiles == {"BLOCK_M": 128, "BLOCK_N": 64}
    assert set(ids(facts_of(DATA / "softmax_thread_row.cu").dtypes)) == {"fp32"}  # `int n` is a size


def test_ptx_is_read_by_its_instructions() -> None:
    facts = facts_of(DATA / "triad.ptx")
    assert (facts.language, facts.parsed, facts.kernels) == ("ptx", True, ("scale",))
    assert set(ids(facts.features)) == {"tma", "mbarrier", "wgmma"}
    assert {"vectorized-access", "tma-bulk-copy", "wgmma-pipeline", "fast-math", "cache-hints"} <= set(ids(facts.techniques))
    assert lines(facts.techniques, "fast-math") == [11]


def test_a_file_with_a_syntax_error_is_read_by_patterns_and_says_where_it_broke() -> None:
    facts = facts_of(DATA / "broken.cu")
    assert not facts.parsed
    assert facts.notes[0].startswith("line 3: does not parse as CUDA C++")
    assert facts.kernels == ("softmax_rows",)
    assert ids(facts.families)[0] == "softmax"
    assert {"fast-math", "warp-shuffle-reduction"} <= set(ids(facts.techniques))
    broken = read_kernel((DATA / "triton_softmax.py").read_text() + "\nx = (\n", "broken.py")
    assert not broken.parsed and broken.kernels == ("softmax_kernel",) and "does not parse as Python" in broken.notes[0]
    assert ids(broken.families)[0] == "softmax"


def test_text_that_is_no_code_has_no_facts() -> None:
    facts = facts_of(DATA / "shopping.txt")
    assert not facts.parsed and not facts.kernels and facts.notes
    assert not (facts.families or facts.techniques or facts.symptoms or facts.missing or facts.features)


@pytest.mark.parametrize(
    ("text", "name", "language"),
    [
        ("__global__ void f() {}", "standard input", "cuda"),
        ("@triton.jit\ndef f(): pass", "standard input", "triton"),
        (".version 8.0\n.target sm_90\n", "standard input", "ptx"),
        ("import cutlass.cute as cute\n@cute.kernel\ndef f(): pass", "k.py", "cutedsl"),
        ("import tilelang\n", "k.py", "tilelang"),
        ("kernel = load_kernel('x.cu')", "k.py", "cuda"),
    ],
)
def test_the_language_comes_from_suffix_and_content(text: str, name: str, language: str) -> None:
    assert detect_language(text, name) == language


def test_cuda_inside_a_python_string_is_read_at_its_own_lines() -> None:
    text = 'SOURCE = """\n' + (DATA / "swap_naive.cu").read_text() + '"""\nmodule = load_inline(SOURCE)\n'
    facts = read_kernel(text, "host.py")
    assert facts.language == "cuda" and facts.kernels == ("kernel",)
    assert lines(facts.symptoms, "uncoalesced-access") == [6]


def test_comments_and_host_code_are_not_taken_for_device_code() -> None:
    text = (
        "// mma.sync wgmma.mma_async __shfl_xor_sync\n/* cp.async.bulk */\nvoid host(double x) {}\n"
        "__global__ void f(float* y) { y[threadIdx.x] = 0.f; }\n"
    )
    facts = read_kernel(text, "f.cu")
    assert not facts.techniques and not facts.features and ids(facts.dtypes) == ["fp32"]


def test_a_float_overload_is_not_double_arithmetic() -> None:
    text = "__global__ void f(float* y) { float v = y[threadIdx.x]; y[threadIdx.x] = exp(v) + sqrt(v) * 0.5f + 1e-5f; }"
    assert "fp64-bound" not in ids(read_kernel(text, "f.cu").symptoms)


def test_one_lane_adding_a_blocks_total_is_no_contention() -> None:
    text = "__global__ void f(float* y, float v) { if (threadIdx.x == 0) atomicAdd(y, v); }"
    assert "atomics-contention" not in ids(read_kernel(text, "f.cu").symptoms)
    assert "atomics-contention" in ids(read_kernel(text.replace("if (threadIdx.x == 0)", ""), "f.cu").symptoms)


def test_lanes_that_start_a_run_time_chunk_apart_are_uncoalesced() -> None:
    text = """__global__ void chunked(const float* x, float* y, int n, int chunk) {
      int tid = blockIdx.x * blockDim.x + threadIdx.x;
      float s = 0.f;
      for (int j = tid * chunk; j < (tid + 1) * chunk && j < n; ++j) s += x[j];
      y[tid] = s;
    }"""
    facts = read_kernel(text, "k.cu")
    assert why(facts.symptoms, "uncoalesced-access").startswith("x[j]: neighbouring lanes are chunk elements apart")
    assert ids(facts.families) == ["reduction"]


def test_a_stride_that_only_a_missing_constant_gives_is_not_reported() -> None:
    text = "__global__ void f(const float* x, float* y) { y[threadIdx.x * WIDTH] = x[threadIdx.x * WIDTH]; }"
    assert "uncoalesced-access" not in ids(read_kernel(text, "k.cu").symptoms)
    assert lines(read_kernel("#define WIDTH 16\n" + text, "k.cu").symptoms, "uncoalesced-access") == [2]


def test_a_sparse_row_a_lane_diverges_and_is_not_called_padded() -> None:
    text = """__global__ void k(const int* row_ptr, const int* col, const float* v, const float* x, float* y, int n) {
      int r = blockIdx.x * blockDim.x + threadIdx.x;
      float s = 0;
      for (int j = row_ptr[r]; j < row_ptr[r + 1]; ++j)
        s += v[j] * x[col[j]];
      y[r] = s;
    }"""
    facts = read_kernel(text, "k.cu")
    assert lines(facts.symptoms, "warp-divergence") == [4]
    assert "padding" not in ids(facts.techniques)


ZOO = sorted((ROOT / "kernel_wiki/zoo").glob("*/*.cu")) + sorted((ROOT / "kernel_wiki/zoo").glob("*/triton*.py"))


@pytest.mark.parametrize("path", ZOO, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_a_zoo_kernel_has_its_operators_family_and_no_false_access_symptom(path: Path) -> None:
    facts = facts_of(path)
    assert facts.parsed, facts.notes
    assert ids(facts.families)[0] == ZOO_FAMILIES.get(path.parent.name, ids(facts.families)[0])
    assert not {"uncoalesced-access", "shared-bank-conflict", "register-spill", "atomics-contention"} & set(ids(facts.symptoms))


PLANTED = {
    "naive_softmax": "uncoalesced-access", "naive_transpose": "uncoalesced-access", "transpose_bank_conflict": "shared-bank-conflict",
    "naive_gemm": "l1-throughput", "atomics_histogram": "atomics-contention", "divergent_branches": "warp-divergence",
    "barrier_heavy": "barrier-stall", "fp64_chain": "fp64-bound", "register_spill": "register-spill", "small_grid": "small-grid",
    "pointer_chase": "latency-long-scoreboard", "shared_chase": "latency-short-scoreboard", "wmma_from_global": "tensor-underused",
    "low_occupancy_blocksize": "low-occupancy-blocksize", "low_occupancy_shared": "low-occupancy-shared",
    "low_occupancy_registers": "low-occupancy-registers",
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_the_planted_fault_of_a_report_kernel_is_found(name: str) -> None:
    assert PLANTED[name] in ids(facts_of(ROOT / f"kernel_wiki/reports/{name}/{name}.cu").symptoms)


@pytest.mark.parametrize(
    "name", ["bandwidth_copy", "softmax_onepass", "transpose_padded", "reduction_shuffle", "histogram_privatized", "fma_chain"]
)
def test_a_cured_report_kernel_has_no_symptom(name: str) -> None:
    assert facts_of(ROOT / f"kernel_wiki/reports/{name}/{name}.cu").symptoms == ()


def test_every_id_that_the_readers_emit_is_in_the_vocabulary() -> None:
    terms = load_vocabulary(ROOT).terms
    tables = (
        ("techniques", cuda_patterns.TECHNIQUES), ("techniques", triton_source._TECHNIQUES), ("techniques", ptx.INSTRUCTION_TECHNIQUES),
        ("features", cuda_patterns.FEATURES), ("features", triton_source._FEATURES), ("features", ptx.INSTRUCTION_FEATURES),
        ("dtypes", cuda_patterns.DTYPES), ("dtypes", cuda_patterns.INTEGER_POINTERS),
        ("dtypes", triton_source._DTYPES), ("dtypes", ptx._DTYPES),
        ("families", _NAMES), ("families", _WEAK_NAMES), ("families", [(family, "") for family in EXPECTED]),
    )  # fmt: skip
    assert [(kind, word) for kind, table in tables for word, _ in table if word not in terms[kind]] == []
    expected = [e for table in EXPECTED.values() for e in table]
    assert [e.technique for e in expected if e.technique not in terms["techniques"]] == []
    assert [w for e in expected for w in e.unless if w not in terms["techniques"]] == []
    assert [w for e in expected for w in e.only_with if w not in terms["bottlenecks"]] == []
    for path in (*sorted(DATA.iterdir()), *ZOO, *sorted((ROOT / "kernel_wiki/reports").glob("*/*.cu"))):
        facts = facts_of(path)
        assert facts.language in terms["languages"]
        for kind, found in (
            ("families", facts.families), ("dtypes", facts.dtypes), ("techniques", (*facts.techniques, *facts.missing)),
            ("bottlenecks", facts.symptoms), ("features", facts.features),
        ):  # fmt: skip
            assert [fact.id for fact in found if fact.id not in terms[kind]] == [], path.name


def test_lines_point_into_the_file() -> None:
    for path in (*sorted(DATA.iterdir()), *ZOO):
        facts, count = facts_of(path), path.read_text().count("\n") + 1
        every = (*facts.families, *facts.dtypes, *facts.techniques, *facts.missing, *facts.symptoms, *facts.features)
        assert all(1 <= fact.line <= count and fact.why for fact in every), path.name


@pytest.mark.parametrize("name", ["softmax_warp_row.cu", "triton_flash.py", "triad.ptx"])
def test_a_generated_file_of_two_megabytes_is_cut_and_says_so(name: str) -> None:
    text = (DATA / name).read_text()
    started = time.process_time()
    facts = read_kernel((text * (2_000_000 // len(text) + 1))[:2_000_000], name)
    assert time.process_time() - started < 5  # 0.2 to 1 s measured; the bound only catches what grows with the whole file
    assert not facts.parsed and facts.kernels
    assert "of 2,000,000 characters were" in facts.notes[-1] and MAX_READ_CHARS < 2_000_000


def test_a_line_of_data_does_not_slow_the_patterns() -> None:
    started = time.process_time()
    for unit in ("a", "(", "sum[0] = ", "exp(", "a ^ (b", "/*", '"', "x * "):
        for suffix in (".cu", ".py", ".ptx"):
            read_kernel(unit * (60_000 // len(unit)), f"data{suffix}")
    assert time.process_time() - started < 10


def test_reading_python_and_ptx_imports_no_parser_of_cuda_nor_torch_nor_triton() -> None:
    code = (
        "import sys; from retriever.kernels.read import read_kernel; read_kernel('@triton.jit\\ndef f(): pass', 'f.py');"
        "read_kernel('.version 8.0', 'f.ptx');"
        "print([m for m in ('torch', 'triton', 'tree_sitter', 'tree_sitter_cuda') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


SOURCES = [path.read_text() for path in sorted(DATA.iterdir())]
ANY_NAME = st.sampled_from(["k.cu", "k.py", "k.ptx", "k.txt", "standard input", ""])
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@QUICK
@given(st.sampled_from(SOURCES), st.floats(0, 1), ANY_NAME)
def test_a_file_cut_anywhere_is_read(text: str, share: float, name: str) -> None:
    assert isinstance(read_kernel(text[: int(len(text) * share)], name), KernelFacts)


@QUICK
@given(st.text(max_size=400), ANY_NAME)
def test_any_text_is_read(text: str, name: str) -> None:
    assert isinstance(read_kernel(text, name), KernelFacts)


CODE = st.lists(
    st.sampled_from(
        ["__global__ void f(float* x, int n) {", "}", "(", ")", "[", "]", "x[threadIdx.x", "* n", "/ 0", "% 0", "<< 99",
         "for (int i = 0; i < n; ++i)",
         "__shared__ float s[32][0];", "atomicAdd(x, 1.f);", ";", "= x", "float y[99999999999];", "@triton.jit\n", "def f(x):\n", 
         " tl.load(x + ", "\n", "&x",
         "if (threadIdx.x)", "return", "f(x)", "__launch_bounds__(0, 0)", "<<<0, -1>>>", "0x", "1e999", "1'000",
         "#define A A\n", "A", "? 1 :", "-1"]
    ),
    max_size=25,
)  # fmt: skip


@QUICK
@given(CODE, ANY_NAME)
def test_any_sequence_of_code_is_read_and_always_in_the_same_way(parts: list[str], name: str) -> None:
    text = " ".join(parts)
    assert read_kernel(text, name) == read_kernel(text, name)


def test_lane_arithmetic_counts_sectors_and_banks() -> None:
    lanes = tuple(range(32))
    assert sectors([4 * lane for lane in lanes], 4) == 4
    assert sectors([16 * lane for lane in lanes], 16) == 16
    assert sectors([4096 * lane for lane in lanes], 4) == 32
    assert [bank_conflict_degree([4 * stride * lane for lane in lanes], 4) for stride in (0, 1, 2, 32, 33)] == [1, 1, 2, 32, 1]
    assert bank_conflict_degree([16 * lane for lane in lanes], 16) == 1  # 16-byte accesses go in four groups of eight lanes
    assert combine("/", lanes, 32) == 0 and combine("+", lanes, 0) == lanes and combine("+", None, 1) is None
    assert [integer(text) for text in ("0x1F", "1'024u", "2.5f", "1e999", "abc", "077")] == [31, 1024, 2, 0, 0, 77]
