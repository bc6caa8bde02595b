"""What happens to a report on its way through terminals, forums, chats and logs: functions from a text to a damaged text."""

from __future__ import annotations

import html
import json
import random
import re
from collections.abc import Callable
from decimal import Decimal

Damage = Callable[[str], str]

PROSE = {
    "zh": "这个内核的带宽太低了，请问怎么优化？",
    "ko": "이 커널이 왜 느린지 모르겠습니다.",
    "es": "El rendimiento de memoria es muy bajo en mi tarjeta.",
    "de": "Der Durchsatz ist viel zu niedrig, woran liegt das?",
}


def by_line(change: Callable[[str], str]) -> Damage:
    return lambda text: "\n".join(change(line) for line in text.splitlines()) + "\n"


def markdown_table(line: str) -> str:
    cells = re.split(r"\s{2,}", line.strip())
    is_row = 2 <= len(cells) <= 3 and re.search(r"\d$|n/a$|nan$", cells[-1])
    return "| " + " | ".join(cells) + " |" if is_row else re.sub(r"^ *-{3,}( -+)+ *$", "|---|---|---|", line)


def two_a_line(text: str) -> str:
    """Neighbouring rows of a table on one line."""
    out: list[str] = []
    for line in text.splitlines():
        row = re.fullmatch(r"    \S.*? {2,}\S.*", line) and re.search(r"\d$", line) and "Section" not in line
        if row and out and out[-1].startswith("ROW "):
            out[-1] = out[-1][4:] + "    " + " ".join(line.split())
        else:
            out.append(("ROW " + " ".join(line.split())) if row else line)
    return "\n".join(line.removeprefix("ROW ") for line in out) + "\n"


def cell_a_line(line: str) -> str:
    """A table copied out of a web page: each cell on its own line."""
    cells = re.split(r"\s{2,}", line.strip())
    return "\n".join(cells) if len(cells) in (2, 3) and line.startswith("    ") and re.search(r"\d$", cells[-1]) else line


def wrapped_at(width: int) -> Damage:
    def wrap(line: str) -> str:
        return "\n".join(line[at : at + width] for at in range(0, len(line.rstrip()), width)) if len(line.rstrip()) > width else line

    return by_line(wrap)


def with_prose(language: str) -> Damage:
    """A remark before, after, and below every rule and table."""
    said = PROSE[language]

    def damage(text: str) -> str:
        body = re.sub(r"\n\n(?=    Section)", f"\n\n{said}\n\n", text)
        return f"{said}\n\n{body}\n{said}\n"

    return damage


def coloured(line: str) -> str:
    return f"\x1b[32m{line}\x1b[0m" if line.strip() else line


def smart(text: str) -> str:
    text = re.sub(r'"([^"\n]*)"', "“\\1”", text).replace("'", "’")
    return by_line(lambda line: re.sub(r"-{3,}", lambda match: "—" * (len(match[0]) // 2), line) if line.strip(" -") == "" else line)(text)


def as_json(text: str) -> str:
    return json.dumps({"returncode": 0, "stdout": text})


def as_list(text: str) -> str:
    return json.dumps({"stdout": text.splitlines()}, indent=2)


DAMAGES: dict[str, Damage] = {
    "quoted": by_line(lambda line: f"> {line}"),
    "quoted twice": by_line(lambda line: f"> > {line}"),
    "fenced": lambda text: f"Here is what ncu says:\n```text\n{text}```\nWhy is it slow?\n",
    "forum": lambda text: f"[code]\n{text}[/code]\n",
    "html": lambda text: f"<pre><code>{html.escape(text)}</code></pre>\n",
    "html breaks": lambda text: "<p>" + html.escape(text).replace(" ", "&nbsp;").replace("\n", "<br>") + "</p>\n",
    "unindented": by_line(str.strip),
    "single spaces": by_line(lambda line: " ".join(line.split())),
    "rules shortened": by_line(lambda line: "---" if re.fullmatch(r" *-{3,}( -+)* *", line) else line),
    "rules lost": by_line(lambda line: "" if re.fullmatch(r" *-{3,}( -+)* *", line) else line),
    "blank lines lost": lambda text: "\n".join(line for line in text.splitlines() if line.strip()) + "\n",
    "blank lines doubled": by_line(lambda line: line + "\n"),
    "markdown table": by_line(markdown_table),
    "two a line": two_a_line,
    "cell a line": by_line(cell_a_line),
    "wrapped at 80": wrapped_at(80),
    "wrapped at 100": wrapped_at(100),
    **{f"prose {language}": with_prose(language) for language in PROSE},
    "coloured": by_line(coloured),
    "smart quotes": smart,
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "tabs": by_line(lambda line: re.sub(r"(?<=\S) {2,}", "\t", line)),
    "windows": lambda text: text.replace("\n", "\r\n"),
    "json": as_json,
    "json list": as_list,
    "kubectl": by_line(lambda line: f"2026-05-01T12:00:00.123456789Z stdout F {line}"),
    "journald": by_line(lambda line: f"May 01 12:00:00 gpu01 bench[4321]: {line}"),
    "logger": by_line(lambda line: f"2026-05-01 12:00:00,123 - INFO - {line}"),
    "python logging": by_line(lambda line: f"INFO:bench.profile:{line}"),
    "srun": by_line(lambda line: f"0: {line}"),
    "torchrun": by_line(lambda line: f"[rank0]: {line}"),
    "mpirun": by_line(lambda line: f"[1,0]<stdout>:{line}"),
    "compose": by_line(lambda line: f"worker-1  | {line}"),
    "numbered": lambda text: "".join(f"{number:>6}\t{line}\n" for number, line in enumerate(text.splitlines(), 1)),
    "pytest": by_line(lambda line: f"E       {line}"),
    "comment": by_line(lambda line: f"// {line}"),
}
"""Every kind by name."""


def spoken_by(text: str, decimal: str) -> str:
    """Numbers of table rows with the other locale's signs: `1,234.50` as `1.234,50`, or `1234.50` without grouping."""

    def swap(match: re.Match[str]) -> str:
        number = match[0]
        new = number.replace(",", "") if decimal == "." else number.translate(str.maketrans(".,", ",."))
        return new.rjust(len(number))

    return re.sub(r"(?<=  )\d[\d,]*(?:\.\d+)?(?=\n)", swap, text)


def sections_of(text: str) -> tuple[str, list[str]]:
    """The text before the first section, and each section's own text."""
    head, *parts = re.split(r"(?m)^(?=    Section: )", text)
    return head, parts


def shuffled(text: str, seed: int) -> str:
    head, parts = sections_of(text)
    parts = [part if part.endswith("\n\n") else part.rstrip("\n") + "\n\n" for part in parts]
    random.Random(seed).shuffle(parts)
    return head + "".join(parts)


SCALES = {"": 0, "K": 3, "M": 6, "G": 9, "T": 12}
_SCALED = re.compile(r"(?P<head> {2,}| )(?P<prefix>[KMGT]?)(?P<unit>byte(?:/s|/block)?|hz)(?P<gap> +)(?P<value>[\d,]+(?:\.\d+)?)(?=\n)")


def rescaled(text: str, seed: int) -> str:
    """Units of bytes and frequencies with other prefixes, the values exact: `1.98 Ghz` as `1,980 Mhz` or `1980000000 hz`."""
    rng = random.Random(seed)

    def change(match: re.Match[str]) -> str:
        new = rng.choice(["", "K", "M", "G"])
        value = Decimal(match["value"].replace(",", "")).scaleb(SCALES[match["prefix"]] - SCALES[new])
        return f"{match['head']}{new}{match['unit']}{match['gap']}{value:f}"

    return _SCALED.sub(change, text)
