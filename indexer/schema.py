"""What every schema of the corpora is built from."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(min_length=1)]


class Strict(BaseModel):
    """A frozen model that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class Source(Strict):
    """Where a file's facts come from."""

    title: Text
    """Document, section, repository or measurement, as a reader would look for it."""
    url: str | None = None
    revision: str | None = None
    """Version, commit or date of what was read."""
