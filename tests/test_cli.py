"""The command line: exit codes, one clear error for bad input, JSON of the promised shape, no model on the way to help."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from indexer.encoder import HashEncoder, load_encoder
from indexer.errors import InputError
from retriever import cli
from tests.corpora import REPOSITORY, write_corpus
from tests.exports import write_export


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("warplore")
    write_corpus(folder / "corpus")
    return folder


@pytest.fixture
def run(place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
    """Runs the command line in this process; gives exit code, stdout and stderr."""
    for name, value in {"CORPUS": place / "corpus", "CACHE": place / "cache", "ENCODER": "hash"}.items():
        monkeypatch.setenv(f"WARPLORE_{name}", str(value))

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["warplore", *arguments])
        try:
            cli.main()
            code = 0
        except SystemExit as error:
            code = int(error.code or 0)
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def test_search_prints_reasons_and_advice(run) -> None:
    code, out, err = run("search", "bank conflict in a transpose", "--gpu", "A100")
    assert code == 0
    assert "guide/shared-bank-conflict" in out and "- about shared-bank-conflict" in out
    assert "can never run on NVIDIA A100-SXM4-80GB" in out.replace("\n", " ")
    assert "index missing" in err


def test_search_json_has_the_promised_shape(run) -> None:
    code, out, _ = run("search", "bank conflict", "--gpu", "H200", "--json", "-k", "3")
    form = json.loads(out)
    assert code == 0 and set(form) >= {"schema", "situation", "hits", "nothing_fits", "advice"}
    assert len(form["hits"]) == 3
    for hit in form["hits"]:
        assert set(hit) >= {"id", "kind", "title", "path", "lines", "score", "applicability", "evidence", "why"}


def test_no_hit_is_a_result_and_says_that_nothing_fits(run) -> None:
    code, out, _ = run("search", "pancake recipe with maple syrup", "--json")
    form = json.loads(out)
    assert code == 0 and form["nothing_fits"] and form["hits"] == [] and form["nearest_misses"]


def test_kind_keeps_one_kind_and_refuses_others(run) -> None:
    _, out, _ = run("search", "transpose", "--kind", "pr", "--json")
    assert {hit["kind"] for hit in json.loads(out)["hits"]} == {"pr"}
    code, _, err = run("search", "transpose", "--kind", "guides")
    assert code == 2 and 'did you mean "guide"?' in err


def test_context_prints_markdown_when_piped(run) -> None:
    code, out, _ = run("context", "--ask", "transpose", "--gpu", "A100", "--budget", "2500")
    assert code == 0 and out.startswith("# Context for optimising this kernel\n") and len(out.encode()) <= 7500


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("context",), "nothing to go by: give a question, --kernel, --gpu or --ncu"),
        (("context", "--gpu", "H2000"), 'unknown GPU "H2000"; nearest: '),
        (("context", "--ask", "x", "--kernel", "missing.cu"), "missing.cu: no such file"),
        (("diagnose", "missing.csv"), "missing.csv: no such file"),
        (("show", "guide/shared-bank-conflic"), 'no entry "guide/shared-bank-conflic"; nearest: guide/shared-bank-conflict'),
        (("isa", "wgmma.mma_asink"), 'no instruction "wgmma.mma_asink"; nearest: wgmma.mma_async'),
        (("gpu", "voodoo"), 'unknown GPU "voodoo"; nearest: '),
        (("search", "x", "--kind", "nonsense"), '--kind "nonsense" is not a kind; one of: zoo, '),
        (("context", "--kernel", "-", "--ncu", "-"), "standard input can be read once; give one of them as a file"),
        (("context", "--ask", "x", "--kernel-name", "softmax"), "none was given; add --ncu REPORT"),
    ],
)
def test_bad_input_gives_one_clear_error_and_exit_code_2(run, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = run(*arguments)
    assert code == 2 and out == ""
    assert message in err and "Traceback" not in err
    assert len([line for line in err.splitlines() if line.startswith("warplore: ") and "index" not in line]) == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.cu", b"", "the file is empty"),
        ("blank.cu", b" \n\n", "the file is empty"),
        ("binary.cu", b"a\nb\0c", "binary.cu:2: contains NUL bytes"),
        ("large.cu", b"// x\n" * 11_000_000, "larger than 4 MiB"),
    ],
)
def test_a_file_that_is_no_kernel_is_refused(run, tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    code, _, err = run("context", "--kernel", str(tmp_path / name))
    assert code == 2 and message in err


def test_a_folder_is_no_kernel_and_no_report(run, tmp_path: Path) -> None:
    for option in ("--kernel", "--ncu"):
        code, _, err = run("context", option, str(tmp_path))
        assert code == 2 and "folder" in err


def test_a_report_given_as_kernel_is_named_as_such(run, tmp_path: Path) -> None:
    for name in ("raw.csv", "details.txt"):
        code, out, err = run("context", "--kernel", str(write_export(tmp_path, "naive_softmax", name)))
        assert code == 2 and out == "" and "a report of Nsight Compute, not a kernel's source; give it with --ncu" in err


@pytest.mark.parametrize("name", ["raw.csv", "details.txt"])
def test_a_report_is_read_from_standard_input(run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    report = write_export(tmp_path, "naive_softmax", name)
    _, expected, _ = run("diagnose", str(report), "--json")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(report.read_bytes())))
    code, out, _ = run("diagnose", "-", "--json")
    assert code == 0 and json.loads(out)["kernels"] == json.loads(expected)["kernels"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    code, _, err = run("diagnose", "-")
    assert code == 2 and "standard input: empty" in err


def test_bytes_outside_the_locale_are_read_as_utf_8(run) -> None:
    code, _, _ = run("search", os.fsdecode(b"bank conflict \xff"))
    assert code == 0
    _, out, _ = run("search", "转置".encode().decode("ascii", "surrogateescape"), "--json")
    assert json.loads(out)["situation"]["ask"] == "转置"


@pytest.mark.parametrize(
    ("store", "message"),
    [("nonsense", '--store "nonsense": not the URL of a Chroma server'), ("http://127.0.0.1:1", "no Chroma server answers there")],
)
def test_a_store_that_is_none_is_refused_before_anything_is_encoded(run, monkeypatch, store: str, message: str) -> None:
    monkeypatch.setattr(HashEncoder, "encode", lambda *_: pytest.fail("encoded"))
    code, _, err = run("search", "transpose", "--store", store)
    assert code == 3 and message in err and "Traceback" not in err


def test_a_kernel_that_uses_what_the_gpu_lacks_is_said_so(run, tmp_path: Path) -> None:
    source = "import triton\n\n@triton.jit\ndef f(a):\n    d = tl.make_tensor_descriptor(a)\n"
    (tmp_path / "k.py").write_text(source)
    _, out, _ = run("context", "--kernel", str(tmp_path / "k.py"), "--gpu", "A100")
    assert "the kernel uses what NVIDIA A100-SXM4-80GB lacks, so it does not run there as it is: tma (line 5)" in out
    _, out, _ = run("context", "--kernel", str(tmp_path / "k.py"), "--gpu", "H200")
    assert "does not run there" not in out


def test_what_is_piped_is_neither_cut_nor_wrapped(place: Path) -> None:
    environment = os.environ | {"COLUMNS": "40", "WARPLORE_CACHE": str(place / "cache")}
    command = [sys.executable, "-m", "retriever", "zoo", "list"]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=120)
    assert "add_rmsnorm/triton_rowwise" in done.stdout and "…" not in done.stdout


def test_isa_finds_an_entry_under_all_its_modifiers(run) -> None:
    code, out, _ = run("isa", "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16", "--gpu", "A100")
    assert code == 0 and "wgmma.mma_async exists on sm_90a only; NVIDIA A100-SXM4-80GB is sm_80" in out
    _, out, _ = run("isa", "wgmma.mma_async", "--gpu", "H200", "--json")
    assert json.loads(out)["instructions"][0]["applicability"]["status"] == "runs"


def test_gpu_shows_the_product_not_the_die(run) -> None:
    _, out, _ = run("gpu", "H200", "--json")
    (h200,) = json.loads(out)["gpus"]
    _, out, _ = run("gpu", "H100", "--json")
    (h100,) = json.loads(out)["gpus"]
    assert h200["product"]["bandwidth_gbps"] == 4800 and h100["product"]["bandwidth_gbps"] == 3350
    code, out, _ = run("gpu")
    assert code == 0 and "rtx-5090" in out


def test_show_prints_code_and_record(run) -> None:
    code, out, _ = run("show", "zoo/transpose/padded")
    assert code == 0 and "```cuda\nextern" in out and "Measured record: none" in out
    _, out, _ = run("show", "pr/acme/kernels/7", "--json")
    assert json.loads(out)["fate"]["status"] == "reverted"


def test_check_lists_problems_with_places_and_exit_code_1(run) -> None:
    code, out, _ = run("check")
    assert code == 1
    assert "kernel_wiki/zoo/transpose/padded.md:1: validation record missing" in out
    assert "files read" in out.splitlines()[-1]


def test_index_status_is_3_until_it_is_built(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPLORE_CACHE", str(tmp_path))
    assert run("index", "status")[0] == 3
    assert run("index", "build")[0] == 0
    code, out, _ = run("index", "status", "--json")
    assert code == 0 and json.loads(out)["state"] == "fresh"


def test_an_index_that_cannot_be_built_is_exit_code_3(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("in the way")
    monkeypatch.setenv("WARPLORE_CACHE", str(tmp_path / "cache"))
    code, _, err = run("search", "transpose")
    assert code == 3 and "set WARPLORE_CACHE to a writable folder" in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes into read-only folders")
def test_a_read_only_cache_is_named(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    monkeypatch.setenv("WARPLORE_CACHE", str(tmp_path / "cache"))
    code, _, err = run("search", "transpose")
    assert code == 3 and "WARPLORE_CACHE" in err


def test_a_cache_below_a_file_is_refused_before_the_encoder_is_exported(run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPLORE_ENCODER", "all-MiniLM-L6-v2")
    monkeypatch.setenv("WARPLORE_CACHE", str(place / "corpus/kernel_wiki/vocabulary.yaml/x"))
    code, _, err = run("search", "transpose")
    assert code == 3 and "set WARPLORE_CACHE to a writable folder" in err and "exporting" not in err


def test_a_damaged_encoder_is_named_with_its_remedy(tmp_path: Path) -> None:
    folder = tmp_path / "encoders" / "some-model"
    folder.mkdir(parents=True)
    (folder / "encoder.json").write_text('{"name": "some')
    with pytest.raises(InputError, match=r"the exported encoder is damaged .*; remove that folder"):
        load_encoder("some-model", tmp_path)


def test_every_command_has_help_with_an_example(run) -> None:
    from typer.main import get_command

    def walk(command, trail):
        for name, child in sorted(getattr(command, "commands", {}).items()):
            yield from walk(child, (*trail, name))
        if not hasattr(command, "commands"):
            yield trail

    for trail in walk(get_command(cli.app), ()):
        code, out, _ = run(*trail, "--help")
        assert code == 0 and "Example: warplore" in " ".join(out.split()), trail


LOADED = """
import sys
from retriever import cli
sys.argv = ["warplore", *sys.argv[2:]]
watched = set({watched!r})
try:
    cli.main()
except SystemExit:
    pass
print("LOADED", sorted(watched & set(sys.modules)), file=sys.stderr)
"""


def loaded(place: Path, watched: tuple[str, ...], *arguments: str) -> str:
    """The last line on stderr of a run in a process of its own: which of the watched modules it imported."""
    settings = {"CORPUS": place / "corpus", "CACHE": place / "cache-once", "ENCODER": "hash"}
    environment = os.environ | {f"WARPLORE_{name}": str(value) for name, value in settings.items()}
    command = [sys.executable, "-c", LOADED.format(watched=watched), "warplore", *arguments]
    done = subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("arguments", [("--help",), ("search", "transpose bank conflict", "--gpu", "H200"), ("zoo", "list")])
def test_neither_help_nor_a_question_imports_torch_or_a_kernel(place: Path, arguments: tuple[str, ...]) -> None:
    assert loaded(place, ("torch", "triton", "sentence_transformers", "transformers"), *arguments) == "LOADED []"


def test_help_loads_neither_the_index_nor_chroma(place: Path) -> None:
    assert loaded(place, ("chromadb", "onnxruntime", "pydantic", "numpy"), "--help") == "LOADED []"


def test_skills_are_installed_once_and_replaced_on_demand(run, tmp_path: Path, place: Path) -> None:
    skill = place / "corpus" / "skills" / "demo"
    skill.mkdir(parents=True, exist_ok=True)
    (skill / "SKILL.md").write_text("---\nname: demo\ndescription: Shows something when asked.\n---\n\nText.\n", encoding="utf-8")
    assert run("skills", "install", str(tmp_path / "skills"))[0] == 0
    assert (tmp_path / "skills" / "demo" / "SKILL.md").is_file()
    code, _, err = run("skills", "install", str(tmp_path / "skills"))
    assert code == 2 and "--force replaces it" in err
    assert run("skills", "install", str(tmp_path / "skills"), "--force")[0] == 0
