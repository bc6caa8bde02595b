"""The judge without a GPU: cheats, the smallest failing case and its replay, limits read before any run, what a time is worth."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernel_wiki.harness import champions, cheats, discover, findings, judge, record, shrink, static
from kernel_wiki.harness.contract import Case, Dim, Work
from tests.corpora import REPOSITORY

CONTRACT = """
    import torch
    from kernel_wiki.harness.contract import Case, Dim, Tolerance, Work, draw

    OPERATOR, SIGNATURE, BOUND = "double", "run(x: (M, N)) -> (M, N)", "bandwidth"
    CASES = (Case({"m": 3, "n": 40}, "fp32"), Case({"m": 16, "n": 300}, "fp32", "special"))
    TOLERANCES = {"fp32": Tolerance(1e-6, 1e-6, 0.0)}
    DIMS = {"m": Dim(1, 64), "n": Dim(1, 400)}
    VIEWS = {"strided": (0,), "offset": (0,)}
    ALLOWED_OPS = ("aten::mul", "aten::add", "aten::mul_", "aten::sum")

    def make_inputs(case, generator, device):
        return (draw((case.shape["m"], case.shape["n"]), case, generator, device),)

    def reference(x):
        return x.double() * 2

    def work(case):
        return Work(8 * case.shape["m"] * case.shape["n"], case.shape["m"] * case.shape["n"])

    BASELINES = {"torch": lambda x: x * 2}
"""
HONEST = "DETERMINISTIC = True\n\ndef run(x):\n    return x * 2\n"
CANDIDATES = {
    "honest": HONEST,
    "wrong_timer": """
        # cheat
        import torch
        torch.cuda.Event.elapsed_time = lambda self, end: 0.001

        def run(x):
            return x * 2
    """,
    "wrong_clock": """
        import time

        def run(x):
            time.perf_counter = lambda: 0.0
            return x * 2
    """,
    "wrong_library": """
        import torch

        def run(x):
            return torch.sign(x) * 2 * x.abs()
    """,
    "wrong_thread": """
        import threading, time

        def run(x):
            threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
            return x * 2
    """,
    "wrong_buffer": "BUFFERS = {}\n\ndef run(x):\n    out = BUFFERS.setdefault(x.shape, x * 2)\n    out.copy_(x * 2)\n    return out\n",
    "wrong_wide": "def run(x):\n    out = x * 2\n    if x.shape[1] > 100:\n        out[1:, 100] = 0\n    return out\n",
    "wrong_stride": "def run(x):\n    n = x.numel()\n    return (x.as_strided((n,), (1,)) * 2).view(x.shape)\n",
    "wrong_nan": "def run(x):\n    return (x * 2).nan_to_num_(0.0) if x.isnan().any() else x * 2\n",
    "wrong_bits": """
        import itertools

        DETERMINISTIC = True
        COUNT = itertools.count()

        def run(x):
            return x * 2 * (1 + 2e-7 * (next(COUNT) % 2))
    """,
    "wrong_import": "from kernel_wiki.zoo.double import contract\n\ndef run(x):\n    return contract.reference(x).float()\n",
    "wrong_vandal": """
        from pathlib import Path

        def run(x):
            Path(__file__).with_name("contract.py").open("a").write("# looser\\n")
            return x * 2
    """,
    "wrong_result": """
        import json, os, signal

        def run(x):
            with open(f"/proc/{os.getppid()}/cmdline") as file:
                path = next(word for word in file.read().split("\\0") if word.endswith("result.json"))
            with open(path, "w") as file:
                json.dump({"verdict": "accepted", "stage": None, "category": None, "cases": [], "timings": []}, file)
            os.kill(os.getppid(), signal.SIGKILL)
            return x * 2
    """,
    "wrong_code": """
        import sys

        def run(x):
            sys.modules["kernel_wiki.harness.cheats"].new_threads.__code__ = (lambda before: []).__code__
            sys._getframe(1).f_locals["self"]._check_form = lambda *arguments: None
            return x * 2
    """,
    "wrong_layout": "def run(x):\n    return (x.t() * 2).clone(memory_format=__import__('torch').contiguous_format).t()\n",
    "wrong_orphan": """
        import os, time

        def run(x):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    with open(__file__ + ".pid", "w") as file:
                        file.write(str(os.getpid()))
                    time.sleep(600)
                os._exit(0)
            time.sleep(1)
            raise ValueError("caf\\u00e9 \\udc80 \\x1b[31m")
    """,
    "wrong_answer": """
        import os, stat

        def run(x):
            for fd in range(3, 64):
                try:
                    if stat.S_ISSOCK(os.fstat(fd).st_mode):
                        os.write(fd, b"\\0\\0\\0\\x02{}")
                except OSError:
                    pass
            return x * 2
    """,
    "wrong_bytecode": """
        import importlib.util, marshal, struct
        from pathlib import Path

        source = Path(__file__).with_name("contract.py")
        cached = Path(importlib.util.cache_from_source(str(source)))
        cached.parent.mkdir(exist_ok=True)
        header = importlib.util.MAGIC_NUMBER + struct.pack("<III", 0, int(source.stat().st_mtime), source.stat().st_size)
        code = compile(source.read_text().replace("1e-6", "1e6"), str(source), "exec")
        cached.write_bytes(header + marshal.dumps(code))

        def run(x):
            return x * 2
    """,
    "wrong_sockets": """
        import os, stat

        def run(x):
            held = 0
            for fd in range(3, 64):
                try:
                    held += stat.S_ISSOCK(os.fstat(fd).st_mode)
                except OSError:
                    pass
            raise ValueError(f"{held} sockets")
    """,
    "wrong_shrunk": """
        import os, sys

        shared, opened = sys.modules["kernel_wiki.harness.shared"], []
        mapped = shared._map

        def cut(file, *form):
            memory = mapped(file, *form)
            opened.append(file)
            if len(opened) == 2:  # the output buffer, which the referee fills next
                os.truncate(file, 0)
            return memory

        shared._map = cut

        def run(x):
            return x * 2
    """,
    "wrong_word": "# not a triton kernel\n\ndef run(x):\n    return x.sign() * 2 * x.abs()\n",
    "wrong_elsewhere": """
        import sys, threading, torch
        from torch.utils._python_dispatch import _disable_current_modes

        def run(x):
            frame, found = sys._getframe(1), []
            while frame:
                if frame.f_code.co_name == "do_observe":
                    return x * 2
                frame = frame.f_back

            def work():
                with _disable_current_modes():
                    found.append(x.sign() * 2 * x.abs())

            worker = threading.Thread(target=work)
            worker.start()
            worker.join()
            return found[0]
    """,
    "wrong_child": """
        import mmap, os, torch

        def run(x):
            out = torch.frombuffer(mmap.mmap(-1, 4 * x.numel()), dtype=x.dtype).view(x.shape)
            child = os.fork()
            if child == 0:
                torch.set_num_threads(1)
                out.copy_(x.sign() * 2 * x.abs())
                os._exit(0)
            os.waitpid(child, 0)
            return out
    """,
    "wrong_later": """
        class Later(list):
            def __iter__(self):
                return iter((self.x * 2,))

        def run(x):
            later = Later([None])
            later.x = x
            return later
    """,
    "wrong_attribute": """
        def run(x):
            out = x.t().contiguous().mul_(2).t()
            out.is_contiguous = lambda: True
            return out
    """,
    "wrong_constant": """
        import sys

        def run(x):
            sys.modules["kernel_wiki.harness.cheats"].ALLOWED_OPS |= {"aten::sign", "aten::abs"}
            return x.sign() * 2 * x.abs()
    """,
    "wrong_blind": """
        import sys, time

        def run(x):
            frame = sys._getframe(1)
            while not hasattr(frame.f_locals.get("self"), "before"):
                frame = frame.f_back
            frame.f_locals["self"].before = {}
            sys.modules["kernel_wiki.harness.cheats"].replaced.__code__ = (lambda before: []).__code__
            time.perf_counter = lambda: 0.0
            return x * 2
    """,
}
CONTAIN = "import sys; from kernel_wiki.harness import sandbox; sandbox.enter(); sys.exit(not sandbox.keep_signals_inside())"
CONTAINED = subprocess.run([sys.executable, "-c", CONTAIN], cwd=REPOSITORY).returncode == 0
EXPECTED = {
    "wrong_timer": ("correctness", "cheat", "torch.cuda.Event.elapsed_time"),
    "wrong_clock": ("correctness", "cheat", "time.perf_counter"),
    "wrong_library": ("correctness", "cheat", "aten::abs"),
    "wrong_thread": ("correctness", "cheat", "threads are alive"),
    "wrong_buffer": ("correctness", "cheat", "earlier call"),
    "wrong_wide": ("correctness", "mismatch", "smallest failing case"),
    "wrong_stride": ("correctness", "mismatch", "strided"),
    "wrong_nan": ("correctness", "mismatch", "first call"),
    "wrong_bits": ("correctness", "mismatch", "declared deterministic"),
    "wrong_import": ("static", "cheat", "may not reach the reference"),
    "wrong_vandal": ("run", "cheat", "changed while the candidate ran"),
    "wrong_result": ("run", "type", "not permitted") if CONTAINED else ("run", "resource", "killed by SIGKILL"),
    "wrong_code": ("correctness", "cheat", "kernel_wiki.harness.cheats.new_threads.__code__, Runner._check_form"),
    "wrong_layout": ("correctness", "type", "not contiguous"),
    "wrong_orphan": ("run", "type", "caf\u00e9 ? ?[31m"),
    "wrong_answer": ("run", "cheat", "wrote to the judge's socket"),
    "wrong_bytecode": ("run", "cheat", "left for the next run: contract."),
    "wrong_sockets": ("run", "type", "ValueError: 1 sockets"),
    "wrong_shrunk": ("run", "type", "not permitted") if sys.platform == "linux" else ("run", "memory-fault", "SIGBUS"),
    "wrong_word": ("correctness", "cheat", "aten::abs"),
    "wrong_elsewhere": ("correctness", "cheat", "aten::abs"),
    "wrong_child": ("correctness", "cheat", "another process"),
    "wrong_later": ("correctness", "cheat", "not exactly torch.Tensor"),
    "wrong_attribute": ("correctness", "cheat", "is_contiguous"),
    "wrong_constant": ("correctness", "cheat", "cheats.ALLOWED_OPS"),
    "wrong_blind": ("correctness", "cheat", "replaced, Runner.before"),
}


ALONE = ("wrong_bytecode", "wrong_vandal")
"""What they change would be blamed on whoever runs beside them."""


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("zoo") / "double"
    folder.mkdir()
    (folder / "contract.py").write_text(textwrap.dedent(CONTRACT), encoding="utf-8")
    for name, source in CANDIDATES.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(source).lstrip(), encoding="utf-8")
    return folder.parent


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("failures")


@pytest.fixture(scope="module")
def variants(zoo: Path, failures: Path) -> dict[str, dict]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPLORE_FAILURES", str(failures))
        options = judge.Options(device="cpu", zoo=zoo, timeout_s=90, jobs=2)
        entries = discover.select("double", zoo, wrong=True)
        found = judge.judge_wrong([entry for entry in entries if entry.name not in ALONE], options)["double"]["variants"]
        for name in ALONE:
            found |= judge.judge_wrong(discover.select(f"double/{name}", zoo, wrong=True), options)["double"]["variants"]
        return found


def test_inputs_that_are_no_tensors_change_with_the_data(tmp_path: Path) -> None:
    folder = tmp_path / "scaled"
    folder.mkdir()
    drawn = "return (draw((case.shape['m'], case.shape['n']), case, generator, device), torch.rand((), generator=generator).item())"
    contract = re.sub(r"return \(draw.*", drawn, textwrap.dedent(CONTRACT)).replace('"double"', '"scaled"').replace("(x)", "(x, alpha)")
    contract = contract.replace("x.double() * 2", "x.double() * alpha").replace("lambda x: x * 2", "lambda x, alpha: x * alpha")
    (folder / "contract.py").write_text(contract, encoding="utf-8")
    (folder / "honest.py").write_text("def run(x, alpha):\n    return x * alpha\n", encoding="utf-8")
    (folder / "wrong_first.py").write_text(
        "first = []\n\ndef run(x, alpha):\n    first.append(alpha)\n    return x * first[0]\n", encoding="utf-8"
    )
    options = judge.Options(device="cpu", zoo=tmp_path, jobs=2)
    (found,) = judge.validate_many(discover.select("scaled/honest", tmp_path), options)
    assert found["verdict"] == "accepted", found["hint"]
    wrong = judge.judge_wrong(discover.select("scaled", tmp_path, wrong=True), options)["scaled"]["variants"]["wrong_first"]
    assert (wrong["stage"], wrong["category"]) == ("correctness", "mismatch"), wrong["hint"]


@pytest.mark.parametrize("name", EXPECTED)
def test_a_cheat_is_rejected_for_what_it_is(name: str, variants: dict[str, dict]) -> None:
    stage, category, words = EXPECTED[name]
    found = variants[name]
    assert (found["stage"], found["category"]) == (stage, category), found["hint"]
    assert words in found["hint"]
    assert set(findings.ANSWER_KEYS) <= set(found)


PEEK = """
import ctypes, os, subprocess, sys
from kernel_wiki.harness import sandbox
role, conceals, enters, source = sys.argv[1:]
if role == "referee":
    if enters == "no":  # two ordinary processes of one user
        sandbox._drop_capabilities(ctypes.CDLL(None))
    if conceals == "yes":
        sandbox.conceal()
    sys.exit(subprocess.run([sys.executable, "-c", source, "candidate", conceals, enters, source]).returncode)
if enters == "yes":
    sandbox.enter()
try:
    open(f"/proc/{os.getppid()}/mem", "rb")
    os.listdir(f"/proc/{os.getppid()}/fd")
except PermissionError:
    sys.exit(13)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
@pytest.mark.parametrize(("conceals", "enters", "status"), [("no", "no", 0), ("yes", "no", 13), ("yes", "yes", 13)])
def test_a_candidate_cannot_look_into_its_referee(conceals: str, enters: str, status: int) -> None:
    command = [sys.executable, "-c", PEEK, "referee", conceals, enters, PEEK]
    assert subprocess.run(command, cwd=REPOSITORY).returncode == status


def test_a_process_that_left_the_session_does_not_outlive_its_candidate(zoo: Path, variants: dict[str, dict]) -> None:
    pid = (zoo / "double" / "wrong_orphan.py.pid").read_text(encoding="utf-8")
    state = Path(f"/proc/{pid}/stat")
    assert not state.exists() or state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("from kernel_wiki.harness.cuda import load_kernel", True),
        ("from kernel_wiki.harness import contract", True),
        ("from kernel_wiki import harness", False),
        ("import kernel_wiki.harness", False),
        ("from kernel_wiki.harness import timing", False),
        ("from . import contract", False),
    ],
)
def test_of_the_judge_a_candidate_imports_the_specs_and_the_launching_only(tmp_path: Path, line: str, allowed: bool) -> None:
    (tmp_path / "a.py").write_text(f"{line}\n\ndef run(x):\n    return x\n", encoding="utf-8")
    assert (static.check(discover.Entry("op", "a", tmp_path)) is None) == allowed


def test_whole_numbers_infinities_and_nan_are_right_or_wrong() -> None:
    torch = pytest.importorskip("torch")
    from kernel_wiki.harness.compare import compare, passes
    from kernel_wiki.harness.contract import Tolerance

    tolerance = Tolerance(1e-3, 1e-3, 1e-6)

    def right(out: object, wanted: object) -> bool:
        return passes(compare((torch.tensor(out),), (torch.tensor(wanted),), tolerance), tolerance)

    infinity, nan = float("inf"), float("nan")
    assert right([7], [7]) and right([True], [True]) and right([], [])
    assert not right([-(2**63)], [0])  # the distance overflows
    assert not right([True], [False])
    assert right([infinity], [infinity]) and right([nan], [nan]) and right(2.0, 2.0)
    assert not right([-infinity], [infinity]) and not right([nan], [infinity]) and not right([1.0], [nan]) and not right([nan], [1.0])


def test_the_smallest_failing_case_is_saved_and_fails_again_when_replayed(zoo: Path, variants: dict, failures: Path) -> None:
    (path,) = (failures / "double").glob("wrong_wide-*.json")
    operator, impl, case, seed, view = shrink.read(path)
    assert (operator, impl, view) == ("double", "wrong_wide", None)
    assert case.shape["m"] == 2  # the first row is right
    assert 101 <= case.shape["n"] <= 150
    body = json.loads(path.read_text(encoding="utf-8"))
    assert body["finding"]["first_bad"] == [1, 100]
    asked = {"shape": case.shape, "dtype": case.dtype, "distribution": case.distribution}
    options = judge.Options(device="cpu", zoo=zoo, jobs=1, case=asked, seed=seed)
    (again,) = judge.validate_many(discover.select("double/wrong_wide", zoo, wrong=True), options)
    assert (again["category"], again["case"], again["first_bad"]) == ("mismatch", case.name, [1, 100])


def test_a_file_that_is_no_saved_failure_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"schema": 1}', encoding="utf-8")
    with pytest.raises(LookupError, match="no saved failure"):
        shrink.read(path)


def test_sizes_are_shrunk_as_far_as_the_failure_and_the_contract_allow() -> None:
    contract = SimpleNamespace(DIMS={"m": Dim(1, 4096), "k": Dim(8, 4096, 8)})
    found = shrink.smallest(contract, Case({"m": 1000, "k": 4096}, "fp32"), lambda case: case.shape["k"] > 64)
    assert found.shape == {"m": 1, "k": 72}


H200 = static.Limits("NVIDIA H200", "9.0", frozenset({"tma", "wgmma"}), 1024, 232448, 255, 65536, 16)
A100 = static.Limits("NVIDIA A100", "8.0", frozenset({"cp-async"}), 1024, 166912, 255, 65536, 1)


def page(tmp_path: Path, front: str = "", needs: dict | None = None) -> discover.Entry:
    """An implementation with a page, and a compile record of one kernel for sm_80 and sm_90a."""
    folder = tmp_path / "op"
    folder.mkdir()
    for name in ("contract.py", "a.py"):
        (folder / name).write_text("def run(x):\n    return x\n", encoding="utf-8")
    (folder / "a.md").write_text(f"---\ntitle: a\n{front}\n---\n", encoding="utf-8")
    entry = discover.Entry("op", "a", folder)
    kernel = {"registers": 40, "smem_bytes": 0, "spill_bytes": 0, **(needs or {})}
    targets = {name: {"ok": True, "kernels": {"k": kernel}} for name in ("sm_80", "sm_90a")}
    record.write({"hashes": discover.entry_hashes(entry), "targets": targets}, discover.record_path("op", "a", "compile", tmp_path))
    return entry


def test_a_feature_that_the_gpu_lacks_refuses_before_any_run(tmp_path: Path) -> None:
    entry = page(tmp_path, "requires: [tma]")
    assert static.check(entry, H200) is None
    found = static.check(entry, A100)
    assert (found.stage, found.category) == ("static", "resource")
    assert found.hint == "needs tma, which NVIDIA A100 (compute capability 8.0) lacks"


@pytest.mark.parametrize(
    ("needs", "words"),
    [
        ({"smem_bytes": 200_000}, "k needs 200000 bytes of shared memory a block; NVIDIA A100 allows 166912"),
        ({"threads": 2048}, "k needs 2048 threads a block; NVIDIA A100 allows 1024"),
        ({"threads": 1024, "registers": 72}, "k needs 73728 registers a block; NVIDIA A100 allows 65536"),
    ],
    ids=["shared", "threads", "registers"],
)
def test_what_a_kernel_needs_is_compared_with_the_limits_of_the_gpu(tmp_path: Path, needs: dict, words: str) -> None:
    assert static.check(page(tmp_path, needs=needs), A100).hint == words


def test_sm_min_above_the_gpu_refuses(tmp_path: Path) -> None:
    assert static.check(page(tmp_path, "sm_min: 90"), A100).hint == "needs compute capability 9.0; NVIDIA A100 has 8.0"


def test_names_of_foreign_kernels_are_told_from_fills_copies_and_own_kernels() -> None:
    mine = ["softmax_rowwise", "gemm_kernel", "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>"]
    theirs = ["nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT", "void at::native::reduce_kernel<512>", "sm90_xmma_gemm_bf16bf16"]
    assert cheats.foreign_names(mine + theirs) == sorted(theirs)


def test_drawn_shapes_differ_with_the_seed_and_stay_within_the_contract() -> None:
    pytest.importorskip("torch")
    from kernel_wiki.harness import correctness

    dims = {"n": Dim(8, 4096, 8), "k": Dim(1, 100)}
    contract = SimpleNamespace(
        DIMS=dims, TOLERANCES={"fp32": 1, "bf16": 2}, work=lambda case: Work(1, 1), admits=lambda shape: shape["n"] >= shape["k"]
    )
    one, other = (correctness.fresh_cases(contract, seed, "cpu") for seed in (1, 2))
    assert [case.name for case in one] != [case.name for case in other]
    assert [case.name for case in one] == [case.name for case in correctness.fresh_cases(contract, 1, "cpu")]
    for case in one + other:
        assert case.shape["n"] % 8 == 0 and 8 <= case.shape["n"] <= 4096 and case.shape["n"] >= case.shape["k"] >= 1


def test_the_neighbour_of_a_timed_shape_is_a_little_smaller_and_aligned_as_it_is() -> None:
    from kernel_wiki.harness.measure import neighbour

    contract = SimpleNamespace(DIMS={"m": Dim(1, 9999), "n": Dim(8, 9999, 8)})
    for seed in range(20):
        near = neighbour(contract, Case({"m": 8192, "n": 256}, "bf16"), random.Random(seed))
        assert near.shape["n"] == 256
        assert near.shape["m"] % 64 == 0 and 0.9 * 8192 < near.shape["m"] < 8192
    assert neighbour(contract, Case({"m": 100, "n": 256}, "bf16"), random.Random(0)) is None


def test_a_time_is_faster_slower_or_level_by_the_interval_of_its_paired_ratios() -> None:
    pytest.importorskip("torch")
    from kernel_wiki.harness import timing

    draw = random.Random(3)
    base = [100 + draw.gauss(0, 1) for _ in range(30)]
    assert timing.compared(base, [1.1 * value for value in base])["verdict"] == "faster"
    assert timing.compared(base, [0.9 * value for value in base])["verdict"] == "slower"
    noisy = timing.compared(base, [100 + draw.gauss(0, 3) for _ in range(30)])
    assert noisy["verdict"] == "level"
    assert noisy["low"] < 1 < noisy["high"]
    assert timing.summary([10.0, 10.0, 10.1, 9.9, 20.0, 30.0])["noise"] == "noisy"


def test_an_implementation_that_beats_its_parent_nowhere_is_rejected_as_slower(tmp_path: Path) -> None:
    entry = page(tmp_path, "parent: zoo/op/b")
    run = judge._Run(judge.Options(device="cpu", zoo=tmp_path))

    def verdict(*found: str) -> dict:
        timings = [{"baselines": {"zoo/op/b": {"verdict": each, "speedup": 0.9, "low": 0.88, "high": 0.92}}} for each in found]
        value = {"verdict": "accepted", "timings": timings}
        run.gate(entry, value)
        return value

    assert verdict("slower", "faster")["verdict"] == "accepted"
    slower = verdict("slower", "level")
    assert (slower["stage"], slower["category"]) == ("measure", "slower")
    assert slower["hint"] == "beats zoo/op/b in none of 2 timed cases; at best 0.900 times as fast (interval 0.880 to 0.920)"


def test_an_entry_that_ends_its_referee_answers_for_that_and_its_neighbours_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [discover.Entry("op", name, Path("op")) for name in "abc"]
    died = findings.rejected(findings.Finding("measure", "resource", "killed"))
    alone = {"a": {"results": {"op/a": {"n": 1}}}, "b": died, "c": {"results": {"op/c": {"n": 3}}}}

    def worker(found: dict) -> SimpleNamespace:
        return SimpleNamespace(finish=lambda limit: found)

    run = judge._Run(judge.Options(device="cpu"))
    monkeypatch.setattr(run, "_timer", lambda group, eager: worker(alone[group[0].name]))
    found = run._timed(worker({"results": {"op/a": {"n": 1}}}), entries, False)
    assert found == {"op/a": {"n": 1}, "op/b": died, "op/c": {"n": 3}}


def test_the_champion_of_an_operator_is_none_without_records(tmp_path: Path) -> None:
    assert champions.champion("op", "nvidia-h200", tmp_path) is None
