"""`isa/verified.json`: what the assemblers answered, one line an example.

An example's record has `accepted` (targets) and `refused` (groups of targets with the kind and the text of the refusal), both by the
strictest of the assemblers that know the target; `since`, the lowest PTX version that its oldest accepting target takes, by the strictest
again; `differs`, what single assemblers answer instead; advisory `codes`; and `sass`, what its instructions became in machine code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from indexer.errors import InputError
from indexer.isa_examples import TARGET_VERSIONS, Example, version_key
from retriever.assemblers import Verdict
from retriever.isa_kinds import error_kind
from retriever.isa_sass import Machine

SCHEMA = 2
VERIFIED = "isa/verified.json"

Answers = Mapping[str, Mapping[tuple[Example, str], Verdict]]
"""Verdicts by assembler version, then by example and target."""


def read_verified(root: Path) -> dict:
    """The content of verified.json.

    Raises:
        InputError: it is missing, is not JSON, or has another schema.
    """
    path = root / VERIFIED
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{VERIFIED}: cannot be read ({error}); run `warplore isa verify --write`") from error
    if record.get("schema") != SCHEMA:
        raise InputError(f"{VERIFIED}: schema {record.get('schema')!r}, not {SCHEMA}; run `warplore isa verify --write`")
    return record


def verified_or_none(root: Path) -> dict | None:
    """The content of verified.json; None where it cannot be used, as before the first verification."""
    try:
        return read_verified(root)
    except InputError:
        return None


def render(record: dict) -> str:
    """The record as JSON with one line an example, so that a change shows as one changed line."""
    head = {key: value for key, value in record.items() if key != "entries"}
    lines = [f'{_compact(head)[:-1]},"entries":{{']
    for position, (id, entry) in enumerate(record["entries"].items()):
        lines.append(f'{"," if position else ""}{json.dumps(id)}:{{"hash":{json.dumps(entry["hash"])},"examples":[')
        lines.append(",\n".join(map(_compact, entry["examples"])))
        lines.append("]}")
    return "\n".join([*lines, "}}"]) + "\n"


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def strictest(example: Example, target: str, answers: Answers) -> Verdict | None:
    """The first refusal among the assemblers that know the target, else their acceptance; None when none knows it."""
    verdicts = [found[example, target] for found in answers.values() if (example, target) in found]
    return next((verdict for verdict in verdicts if not verdict.accepted), verdicts[0] if verdicts else None)


def example_record(
    example: Example, answers: Answers, since: Mapping[str, str | None], machines: Sequence[Machine], sass_by: str | None
) -> dict:
    """What is recorded of one example; `since` gives the lowest PTX version by assembler."""
    facts = {target: verdict for target in TARGET_VERSIONS if (verdict := strictest(example, target, answers))}
    record: dict = {"version": example.version, **_by_answer(facts)}
    if known := {name: version for name, version in since.items() if version}:
        record["since"] = max(known.values(), key=version_key)
    if codes := {target: codes for target in facts if (codes := _codes(example, target, answers))}:
        record["codes"] = {code: [t for t in codes if code in codes[t]] for code in sorted({c for each in codes.values() for c in each})}
    differs = {name: entry for name in answers if (entry := _difference(example, facts, answers[name], known.get(name), record))}
    if differs:
        record["differs"] = differs
    if machines:
        record["sass"] = _by_form(machines)
        if sass_by:
            record["sass_by"] = sass_by
    return record


def _by_answer(facts: Mapping[str, Verdict]) -> dict:
    """Targets by answer; a message that quotes its own target is written with `{target}`, so that it groups."""
    refused: dict[str, list[str]] = {}
    for target, verdict in facts.items():
        if not verdict.accepted:
            refused.setdefault(verdict.errors[0].replace(f"'{target}'", "'{target}'"), []).append(target)
    return {
        "accepted": [target for target, verdict in facts.items() if verdict.accepted],
        "refused": [{"kind": error_kind(message), "error": message, "targets": targets} for message, targets in refused.items()],
    }


def _codes(example: Example, target: str, answers: Answers) -> set[str]:
    return {code for found in answers.values() if (verdict := found.get((example, target))) for code in verdict.codes}


def _difference(example: Example, facts: Mapping[str, Verdict], found: Mapping, since: str | None, record: dict) -> dict:
    other = {t: v for t in facts if (v := found.get((example, t))) and v.accepted != facts[t].accepted}
    entry: dict = {key: value for key, value in _by_answer(other).items() if value}
    if since and since != record["since"]:
        entry["since"] = since
    return entry


def _by_form(machines: Sequence[Machine]) -> dict[str, list[dict]]:
    """Machine code by spelled-out instruction, targets of the same outcome together."""
    found: dict[str, list[dict]] = {}
    for machine in machines:
        entry: dict = {"opcodes": dict(machine.opcodes)}
        if machine.native is not None:
            entry["native"] = machine.native
        groups = found.setdefault(machine.form, [])
        same = next((group for group in groups if {k: v for k, v in group.items() if k != "targets"} == entry), None)
        if same:
            same["targets"].append(machine.target)
        else:
            groups.append({"targets": [machine.target], **entry})
    return found


def accepted_by(entry: dict, assembler: str) -> set[str]:
    """Targets for which one assembler accepts the example of that record."""
    return set(entry["accepted"]) | set(entry.get("differs", {}).get(assembler, {}).get("accepted", ()))


def refusal(entry: dict, target: str) -> tuple[str, str] | None:
    """`(kind, message)` of the refusal of an example for a target; None when it is accepted or unknown."""
    for group in entry["refused"]:
        if target in group["targets"]:
            return group["kind"], group["error"].replace("{target}", target)
    return None
