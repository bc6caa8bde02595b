"""The command line as a user's call of it."""

from __future__ import annotations

import pytest

from retriever.cli import main
from tests.corpora import REPOSITORY


def said(arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What `warplore diagnose` prints, its exit status being 0."""
    monkeypatch.setattr("sys.argv", ["warplore", "diagnose", *arguments, "--corpus", str(REPOSITORY)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    return capsys.readouterr().out
