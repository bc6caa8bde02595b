"""A user's own copy of the manual: read by anchor, kept privately, quoted with its label."""

from __future__ import annotations

import json

import pytest

from indexer.errors import InputError
from retriever.isa_overlay import FILE_NAME, copy_text, import_manual, load_manual, own_sections, read_manual, search_manual, sections_on

HTML = """<html><head><title>not text</title><style>p {}</style></head><body><nav><h2 id="menu">Menu</h2></nav>
<section id="data-movement"><h3><span class="section-number">9.7.9. </span>Data movement<a class="headerlink" href="#x">¶</a></h3>
<p>Intro to   moving.</p>
<section id="instr-frob"><h4>Instructions: frob, frob.bulk<a class="headerlink" href="#y">¶</a></h4>
<pre>frob{.mod}.b32  d, a;
frob.bulk       [d], a;</pre>
<p>Frobnicates <code>a</code> &amp; stores &lt;d&gt;.</p><table><tr><td>one</td><td>two</td></tr></table></section></section>
<div id="old-style"><h3 class="title">Swizzle of rows</h3><p>Rows are swizzled in shared memory<br>by XOR.</div>
<h2>No anchor</h2><p>Lost.</p></body></html>"""


def test_sections_have_anchor_title_level_and_text():
    data, frob, swizzle = (section for section in read_manual(HTML))
    assert (data.anchor, data.title, data.level, data.text) == ("data-movement", "9.7.9. Data movement", 3, "Intro to moving.")
    assert (frob.anchor, frob.level) == ("instr-frob", 4)
    assert "frob{.mod}.b32  d, a;\nfrob.bulk       [d], a;" in frob.text
    assert "Frobnicates a & stores <d>." in frob.text and "one | two" in frob.text
    assert "swizzled in shared memory\nby XOR." in swizzle.text


def test_an_imported_copy_is_private_and_found_again(tmp_path):
    (tmp_path / "manual.html").write_text(HTML, encoding="utf-8")
    folder = tmp_path / "data" / "warplore"
    sections = import_manual(tmp_path / "manual.html", folder)
    assert load_manual(folder) == tuple(sections)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / FILE_NAME).stat().st_mode & 0o777 == 0o600


def test_an_instruction_is_found_by_title_before_code():
    sections = read_manual(HTML)
    assert [s.anchor for s in sections_on(["frob"], sections)] == ["instr-frob"]
    assert sections_on(["fro"], sections) == []
    assert copy_text(sections_on(["frob.bulk"], sections)).startswith(
        '## from your own copy: "Instructions: frob, frob.bulk" (#instr-frob)'
    )


def test_a_question_finds_sections_that_share_most_of_its_words():
    sections = read_manual(HTML)
    assert [s.anchor for s in search_manual("swizzled rows in shared memory", sections)][:1] == ["old-style"]
    assert search_manual("completely unrelated words here", sections) == []


def test_without_a_copy_nothing_is_added(tmp_path, monkeypatch):
    monkeypatch.setenv("WARPLORE_DATA", str(tmp_path))
    assert own_sections("swizzle") == []


@pytest.mark.parametrize("content", [b"", b"plain text", b"<html><body><p>no heading</p></body></html>", b"\x00\x01<h1 id=x>T</h1>"])
def test_a_file_that_is_no_manual_is_one_clear_error_and_leaves_nothing(tmp_path, content):
    (tmp_path / "bad.html").write_bytes(content)
    with pytest.raises(InputError, match="no section with an anchor and a heading"):
        import_manual(tmp_path / "bad.html", tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_a_missing_file_and_a_damaged_copy_are_clear_errors(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        import_manual(tmp_path / "none.html", tmp_path / "data")
    (tmp_path / FILE_NAME).write_text(json.dumps({"schema": 9}), encoding="utf-8")
    with pytest.raises(InputError, match="damaged"):
        load_manual(tmp_path)
