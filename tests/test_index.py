"""The index: incremental, atomic, usable while it is rebuilt, and honest about its age."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from indexer.build import build_index
from indexer.encoder import HashEncoder
from indexer.errors import IndexMissingError, InputError
from indexer.index import current_generation, load_index
from indexer.store import VectorStore
from retriever.service import Warplore
from tests.corpora import PAGES, REPOSITORY, write_corpus

TECHNIQUE = "kernel_wiki/techniques/swizzle.md"


@pytest.fixture
def core(tmp_path: Path) -> Warplore:
    return Warplore(write_corpus(tmp_path / "corpus"), cache=tmp_path / "cache", encoder="hash")


def answer(core: Warplore, text: str) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in core.rank(core.situation(text)).hits]


def test_the_first_use_builds_the_index_and_reports_progress(tmp_path: Path) -> None:
    steps = []
    core = Warplore(write_corpus(tmp_path / "corpus"), cache=tmp_path / "cache", encoder="hash", progress=lambda *step: steps.append(step))
    assert core.status().state == "missing"
    assert answer(core, "bank conflict")[0][0] == "guide/shared-bank-conflict"
    assert core.status().state == "fresh"
    assert list(dict.fromkeys(step for step, _, _ in steps)) == ["reading", "encoding", "writing"]
    assert all(done <= total for _, done, total in steps) and steps[-1] == ("writing", 1, 1)


def test_only_changed_chunks_are_encoded_again(core: Warplore) -> None:
    first = core.build()
    assert first.encoded > 5
    page = core.root / TECHNIQUE
    page.write_text(page.read_text(encoding="utf-8").replace("A warp that reads", "Any warp that reads"), encoding="utf-8")
    assert core.status().state == "out of date" and core.status().detail == "1 files changed, 0 added, 0 removed"
    assert core.build().encoded == 1
    assert core.build().encoded == 0


def test_a_touched_file_with_the_same_content_is_not_out_of_date(core: Warplore) -> None:
    core.build()
    os.utime(core.root / TECHNIQUE, (1, 1))
    assert core.status().state == "fresh"


def test_an_incremental_build_answers_as_a_fresh_one(core: Warplore, tmp_path: Path) -> None:
    core.build()
    page = core.root / TECHNIQUE
    page.write_text(page.read_text(encoding="utf-8").replace("32 banks", "all 32 banks of shared memory"), encoding="utf-8")
    core.build()
    other = Warplore(core.root, cache=tmp_path / "other", encoder="hash")
    for text in ("column of a tile in shared memory", "wgmma", "transpose"):
        assert answer(core, text) == answer(other, text)


def test_a_removed_page_leaves_the_index(core: Warplore) -> None:
    core.build()
    (core.root / TECHNIQUE).unlink()
    core.build()
    assert "technique/swizzle" not in core.index.records
    assert "technique/swizzle" not in [id for id, _ in answer(core, "swizzle xor column")]


def test_a_broken_page_is_left_out_and_named_and_the_rest_answers(core: Warplore) -> None:
    write_corpus(core.root, **{TECHNIQUE: PAGES[TECHNIQUE].replace("bottlenecks:", "botlenecks:")})
    assert answer(core, "bank conflict")
    assert any("botlenecks" in warning for warning in core.warnings)


def test_a_killed_build_leaves_the_old_index_usable(core: Warplore, monkeypatch: pytest.MonkeyPatch) -> None:
    core.build()
    before = current_generation(core.index_folder)
    page = core.root / TECHNIQUE
    page.write_text(page.read_text(encoding="utf-8") + "\n## More\n\nNew text.\n", encoding="utf-8")

    def die(*_args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("indexer.build._switch", die)
    with pytest.raises(KeyboardInterrupt):
        core.build()
    assert current_generation(core.index_folder) == before
    assert load_index(core.index_folder).records
    monkeypatch.undo()
    core.build()
    assert core.status().state == "fresh"


def test_readers_in_other_processes_answer_while_the_index_is_rebuilt(core: Warplore) -> None:
    core.build()
    environment = os.environ | {"WARPLORE_CACHE": str(core.cache), "WARPLORE_CORPUS": str(core.root), "WARPLORE_ENCODER": "hash"}
    loop = (
        "import time\nfrom retriever.service import Warplore\nfrom indexer.index import load_index\nend = time.time() + 4\n"
        "core = Warplore()\nwhile time.time() < end:\n"
        "    index = load_index(core.index_folder)\n"
        "    assert index.nearest(core.encoder.encode(['swizzle the tile'])[0], 3)\nprint('answered')"
    )
    readers = [subprocess.Popen([sys.executable, "-c", loop], env=environment, cwd=REPOSITORY, stdout=subprocess.PIPE) for _ in range(2)]
    end = time.time() + 6
    turn = 0
    while any(reader.poll() is None for reader in readers) and time.time() < end + 30:
        turn += 1
        write_corpus(core.root, **{TECHNIQUE: PAGES[TECHNIQUE] + f"\nTurn {turn}.\n"})
        core.build()
    assert [reader.communicate()[0].decode().strip() for reader in readers] == ["answered", "answered"]
    assert turn > 1


def test_a_chroma_server_gives_the_same_answers_as_the_embedded_store(core: Warplore, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(Path(sys.executable).with_name("chroma")),
        "run",
        "--path",
        str(tmp_path / "server"),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        other = Warplore(core.root, cache=tmp_path / "other", encoder="hash", store=url)
        end = time.time() + 30
        while True:
            try:
                other.build()
                break
            except InputError as error:
                assert "start one with `chroma run`" in str(error) and time.time() < end
                time.sleep(0.3)
        for text in ("swizzle the tile", "wgmma", "transpose"):
            assert answer(other, text) == answer(core, text)
    finally:
        server.terminate()
        server.wait()


@pytest.mark.parametrize("damage", ["manifest.json", "chunks.json", "records.json", "chroma", "bm25"])
def test_a_damaged_index_is_built_anew(core: Warplore, damage: str) -> None:
    core.build()
    expected = answer(core, "swizzle")
    generation = current_generation(core.index_folder)
    assert generation is not None
    target = generation / damage
    for file in [target] if target.is_file() else [path for path in target.rglob("*") if path.is_file()]:
        file.write_bytes(b"not what it was")
    again = Warplore(core.root, cache=core.cache, encoder="hash")
    assert answer(again, "swizzle") == expected
    assert again.warnings


def test_damaged_vectors_in_the_store_are_written_anew_without_encoding(core: Warplore, monkeypatch: pytest.MonkeyPatch) -> None:
    core.build()
    expected = answer(core, "swizzle")
    generation = current_generation(core.index_folder)
    assert generation is not None
    for file in [path for path in (generation / "chroma").rglob("*") if path.is_file()]:
        file.write_bytes(b"not what it was")
    again = Warplore(core.root, cache=core.cache, encoder="hash")
    steps: list[str] = []
    again.progress = lambda step, *_: steps.append(step)
    assert answer(again, "swizzle") == expected
    assert "writing" in steps and "encoding" not in steps


def test_the_store_finds_exactly_the_nearest_vectors(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(40, 64))
    vectors = (centres[generator.integers(40, size=2500)] + 0.5 * generator.normal(size=(2500, 64))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    store = VectorStore(tmp_path)
    store.fill([str(row) for row in range(len(vectors))], vectors)
    for query in vectors[::250]:
        exact = np.argsort(-(vectors @ query), kind="stable")[:200]
        assert {id for id, _ in store.nearest(query, 200)} == {str(row) for row in exact}


def test_a_pointer_that_is_no_text_is_a_missing_index(core: Warplore) -> None:
    core.build()
    (core.index_folder / "current").write_bytes(b"\xff\xfe\x00")
    assert core.status().state == "missing"
    assert answer(Warplore(core.root, cache=core.cache, encoder="hash"), "swizzle")


def test_an_index_of_another_format_or_encoder_is_refused_and_rebuilt(core: Warplore) -> None:
    core.build()
    generation = current_generation(core.index_folder)
    assert generation is not None
    with pytest.raises(IndexMissingError, match="made by encoder hash-256, not other"):
        load_index(core.index_folder, "other")
    manifest = json.loads((generation / "manifest.json").read_text())
    (generation / "manifest.json").write_text(json.dumps(manifest | {"format_version": 99}))
    with pytest.raises(IndexMissingError, match="index format 99, this version reads"):
        load_index(core.index_folder)
    assert answer(Warplore(core.root, cache=core.cache, encoder="hash"), "swizzle")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    with pytest.raises(InputError, match="WARPLORE_CACHE"):
        build_index(write_corpus(tmp_path / "corpus"), tmp_path / "cache" / "index", HashEncoder())


def test_the_hash_encoder_gives_unit_vectors() -> None:
    vectors = HashEncoder().encode(["a b", "c"])
    assert vectors.shape == (2, 256) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0)
