"""What PTX modifiers mean: the schema of `isa/modifiers.yaml`."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, model_validator

from indexer.schema import Source, Strict, Text


class ModifierGroup(Strict):
    """Modifiers of one sort."""

    title: Text
    placeholders: tuple[str, ...] = ()
    """How syntax lines abbreviate the group: `type` for `.type`."""
    modifiers: dict[str, Text] = Field(default_factory=dict)
    """Modifier, without its dot, to what it means. A key `op modifier` holds for instructions that begin with `op` only."""
    patterns: dict[str, Text] = Field(default_factory=dict)
    """Regular expression over the whole modifier to what it means; `{1}` stands for the first group."""

    @model_validator(mode="after")
    def _patterns_compile(self) -> ModifierGroup:
        for pattern in self.patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"pattern {pattern!r}: {error}") from error
        return self


class Glossary(Strict):
    """The whole of modifiers.yaml."""

    schema_version: Annotated[int, Field(alias="schema")]
    sources: Annotated[tuple[Source, ...], Field(min_length=1)]
    groups: dict[str, ModifierGroup]

    def meaning(self, modifier: str, instruction: str = "") -> str:
        """What a modifier means, for that instruction where it is special there; empty when unknown."""
        for key in (f"{instruction} {modifier}", modifier):
            for group in self.groups.values():
                if key in group.modifiers:
                    return group.modifiers[key]
        for group in self.groups.values():
            for pattern, text in group.patterns.items():
                if match := re.fullmatch(pattern, modifier):
                    return re.sub(r"\{(\d)\}", lambda number: match[int(number[1])] or "", text)
        return ""

    def placeholders(self, modifier: str) -> set[str]:
        """The abbreviations under which a modifier goes in syntax lines."""
        holding = (
            group for group in self.groups.values() if modifier in group.modifiers or any(re.fullmatch(p, modifier) for p in group.patterns)
        )
        return {name for group in holding for name in group.placeholders}
