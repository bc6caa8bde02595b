"""The acceptance table of an instruction page, rendered from verified.json; pages hold no such table by hand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from indexer.isa_examples import TARGET_VERSIONS, Example
from retriever.isa_sass import SASS_TARGETS, forms, opcode, statements

TARGETS = tuple(TARGET_VERSIONS)
MAX_FORMS = 3
"""Spelled-out instructions that name a row of the table."""
SETTING_UP = ("ld.param", "mov", "cvta", "ret", "setp", "bra", "add", "st.global", "ld.global")
"""What an example needs around the instruction that it is about."""


def fold_targets(names: Collection[str]) -> str:
    """Targets in words: `sm_80 and later`, `sm_75 to sm_89`, `sm_100a/f, sm_103a/f`; `none` when there is none.

    "and later" is said only when every later target is in, the plain ones too.
    """
    held = [name for name in TARGETS if name in names]
    if not held:
        return "none"
    first, last = TARGETS.index(held[0]), TARGETS.index(held[-1])
    if len(held) == len(TARGETS):
        return "every target"
    if held == list(TARGETS[first:]) and len(held) > 1:
        return f"{held[0]} and later"
    if len(held) > 2 and held == list(TARGETS[first : last + 1]):
        return f"{held[0]} to {held[-1]}"
    by_chip: dict[str, list[str]] = {}
    for name in held:
        by_chip.setdefault(name.rstrip("af"), []).append(name[len(name.rstrip("af")) :])
    return ", ".join(chip + _suffixes(kinds) for chip, kinds in by_chip.items())


def _suffixes(kinds: list[str]) -> str:
    named = "/".join(sorted(kind for kind in kinds if kind))
    return f"{' and ' if '' in kinds else ''}{named}" if named else ""


def acceptance_text(entry: dict, examples: Sequence[Example], mnemonics: Sequence[str], record: dict) -> str:
    """A section with one row an example, and one on native or expanded machine code, from the record of the page."""
    rows = ["| form | accepted by | since PTX | refused elsewhere |", "|---|---|---|---|"]
    differences, seen = [], set()
    # Those with a "since" first: a counter-example often shows the same form with the same answer.
    for example, each in sorted(zip(examples, entry["examples"]), key=lambda pair: "since" not in pair[1]):
        label = form_label(example.text, mnemonics)
        if (label, *each["accepted"]) in seen and each["accepted"]:
            continue
        seen.add((label, *each["accepted"]))
        kinds = "; ".join(f"{group['kind']}: {_message(group)} ({fold_targets(group['targets'])})" for group in each["refused"])
        rows.append(f"| {label} | {fold_targets(each['accepted'])} | {each.get('since', '-')} | {kinds or '-'} |")
        differences += [f"- ptxas {name}, {label}: {_difference(found)}" for name, found in each.get("differs", {}).items()]
        differences += [f"- advisory {code}, {label}: {fold_targets(targets)}" for code, targets in each.get("codes", {}).items()]
    tools = ", ".join(record["assemblers"])
    parts = [f'## Accepted by\n\nptxas {tools}; the strictest decides. A target\'s own lowest PTX version bounds "since".', "\n".join(rows)]
    if differences:
        parts.append("\n".join(differences))
    if machine := machine_text(entry, record):
        parts.append(machine)
    return "\n\n".join(parts)


def _message(group: dict) -> str:
    return group["error"].replace("|", "\\|").replace("on .target '{target}'", "there").replace("'{target}'", "it")


def _difference(found: dict) -> str:
    parts = [f"accepts {fold_targets(found['accepted'])}"] if found.get("accepted") else []
    parts += [f"refuses {fold_targets(group['targets'])} ({_message(group)})" for group in found.get("refused", ())]
    parts += [f"since PTX {found['since']}"] if "since" in found else []
    return "; ".join(parts)


def form_label(text: str, mnemonics: Sequence[str]) -> str:
    """What an example shows: its instructions of the page, else the telling others, else its first line."""
    found = forms(text, mnemonics) or [
        name for name in dict.fromkeys(map(opcode, statements(text))) if name and not name.startswith(SETTING_UP)
    ]
    shown = ", ".join(f"`{name}`" for name in found[:MAX_FORMS]) + (f" and {len(found) - MAX_FORMS} more" if len(found) > MAX_FORMS else "")
    return shown or f"`{text.strip().splitlines()[0][:60]}`"


def machine_text(entry: dict, record: dict) -> str:
    """What the instructions became, one row a form and one column a generation; empty when nothing was read."""
    rows = {form: groups for each in entry["examples"] for form, groups in each.get("sass", {}).items()}
    if not rows:
        return ""
    shown = [target for target in SASS_TARGETS if any(target in group["targets"] for groups in rows.values() for group in groups)]
    lines = [f"| machine code of | {' | '.join(shown)} |", f"|{'---|' * (len(shown) + 1)}"]
    lines += [f"| `{form}` | {' | '.join(_cell(groups, target) for target in shown)} |" for form, groups in rows.items()]
    by = {each["sass_by"] for each in entry["examples"] if "sass_by" in each} or {record["assemblers"][0]}
    head = f"Machine code by ptxas {', '.join(sorted(by))}, read with nvdisasm {record['nvdisasm']}; moves and other bookkeeping left out."
    return "\n\n".join((head, "\n".join(lines)))


def _cell(groups: Iterable[dict], target: str) -> str:
    for group in groups:
        if target in group["targets"]:
            verdict = {True: "native: ", False: f"{sum(group['opcodes'].values())} instructions: "}.get(group.get("native"), "")
            names = [f"{count} {name}" if count > 1 else name for name, count in group["opcodes"].items()]
            return verdict + ", ".join(names[:4]) + (" ..." if len(names) > 4 else "")
    return "-"
