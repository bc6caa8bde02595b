"""Lines of a pasted report without what mail, forums, chats, logs and terminals add to them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

MARKS_OF_AN_ESCAPED_TEXT = 2  # so many `\n` in one line make it a text inside a JSON or Python string; C++ names have none
MAX_PREFIXES = 4  # kubectl's timestamp, stream, a logger's level and a rank can stand one after the other

_UNTOUCHED = re.compile(r"(?:  +(?![\"' ])|Section: |==)[^\x00-\x09\x0b-\x1f|&\\`\[\x7f-\U0010ffff]*(?<![\"'>,])\n?")
"""The shape of nearly every line that ncu wrote itself: a shortcut past the rest, with the same outcome."""

_CONTROL = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u2060\ufeff\xad]"
)
_SPACED_DIGITS = re.compile(r"(?<![\d.,])\d{1,3}(?:[\u00a0\u202f\u2009]\d{3})+(?!\d)")
_SPACES = dict.fromkeys((0xA0, 0x202F, 0x2007, 0x2009, 0x3000, *range(0x2000, 0x2007), 0x2008, 0x200A), " ")
_LETTERS = {
    **dict(zip(map(ord, "“”„«»‘’‚′"), '"""""\'\'\'\'', strict=True)),
    **dict.fromkeys(map(ord, "‐‑‒–—―−─━═"), "-"),
    **dict.fromkeys(map(ord, "│┃║┆┊├┤┼╂╪╬┬┴┌┐└┘╔╗╚╝╠╣╦╩"), "|"),
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
}
"""Typographic and full-width characters to the ones that ncu prints; table borders to `|` and `-`."""
_TYPOGRAPHY = str.maketrans({**_SPACES, **_LETTERS})

_ENTITY = re.compile(r"&(nbsp|lt|gt|amp|quot|apos|percnt|sol|lpar|rpar|num|#\d{1,6}|#[xX][0-9a-fA-F]{1,5});")
_NAMED = {
    "nbsp": " ", "lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'",
    "percnt": "%", "sol": "/", "lpar": "(", "rpar": ")", "num": "#",
}  # fmt: skip
_LINE_TAG = re.compile(r"</?(?:br|tr|p|div|li|pre|h[1-6])(?:\s[^<>]*)?/?>", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:code|span|td|th|table|tbody|thead|strong|em|ul|ol|details|summary|blockquote|font|samp|kbd|tt|html|body)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_BOARD_TAG = re.compile(r"\[/?(?:code|quote|pre|b|i|u|tt|spoiler|size|font|color)(?:=[^\]]*)?\]", re.IGNORECASE)
_ESCAPED_PUNCTUATION = re.compile(r"\\([\\`*_{}\[\]()#+.!<>|~%-])")
_ESCAPED_LETTER = re.compile(r"\\(u[0-9a-fA-F]{4}|[nrt\"'\\/])")
_LETTER_OF = {"n": "\n", "r": "", "t": "\t", '"': '"', "'": "'", "\\": "\\", "/": "/"}

_QUOTE = re.compile(r" {0,3}(?:>(?: ?(?=>)| (?! {0,3}>)|(?=[^\s(:,>])|$))+")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})\s*[\w+-]*\s*$")
_STRING = re.compile(r"\s*[bru]?([\"'])(.*?)(?:\\n)?\1[\])}]*,?\s*$")

_PREFIXES = tuple(
    re.compile(pattern)
    for pattern in (
        r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?(?:[ \t](?:stdout|stderr) [FP])?(?: ?[-|:](?= ))?(?: |$)",
        r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [^\s:\[]+(?:\[\d+\])?:(?: |$)",
        r"\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?(?: [-|](?= ))?(?: |$)",
        r"\[(?:DEBUG|INFO|WARN|WARNING|ERROR|NOTICE|TRACE)\]:?(?: |$)",
        r"(?:DEBUG|INFO|WARNING|ERROR|NOTICE|TRACE)(?::[\w.]*:| ?[-|:](?: |$))",
        r"\[?(?:rank|RANK|Rank)[ _]?\d{1,5}\]?[:|>]?(?: |$)",
        r"\[\d+,\d+\]<std(?:out|err)>: ?",
        r"\[pod/[^\]]+\](?: |$)",
        r"\((?:[\w.-]+ )?pid=\d+[^)]*\)(?: |$)",
        r"[\w.]+[-_][\w.-]*\d +\|(?: |$)",
        r" {0,6}L?\d{1,6}(?:\t|:(?: |$)| ?\|(?: |$))",
        r"E {3}(?= )",
        r"(?://|#!?|--|;|\+)(?= {2,}\S| Section: |\s*$)",
    )
)
"""What stands before each line of a log: timestamps, syslog, levels, ranks (srun, mpirun, torchrun), pods, containers, line numbers,
pytest, signs of comments and of lines that a patch adds. Each takes one space with it, so that columns stay where they are."""


def mended(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The same lines as ncu printed them, each with its own number; one that holds several gives several with one number."""
    carried = ""
    for number, raw in lines:
        line = carried + raw
        carried = _unfinished(line)
        line = line[: len(line) - len(carried)] if carried else line
        carried = carried.rstrip("\r\n")
        if _UNTOUCHED.fullmatch(line):
            yield number, line
        else:
            for part in mended_line(line):
                yield number, part
    if carried:
        yield number, "".join(mended_line(carried))


def _unfinished(line: str) -> str:
    """What stands behind the last line break of several inside one line: an editor may have wrapped it there, in mid-word."""
    for mark in ("\\n", "<br>"):
        if line.count(mark) >= MARKS_OF_AN_ESCAPED_TEXT:
            tail = line[line.rindex(mark) + len(mark) :]
            return tail if tail.strip() else ""
    return ""


def mended_line(line: str) -> tuple[str, ...]:
    """What one line of a paste says, without marks around it; a fence or a table's border of `|---|` keeps its dashes."""
    if _UNTOUCHED.fullmatch(line):
        return (line,)
    end = "\n" if line.endswith("\n") else ""
    parts = _unescaped(line.rstrip("\r\n"))
    if len(parts) == 1 and "<" in parts[0]:
        parts = [piece for part in parts for piece in _LINE_TAG.split(part)]
        parts = parts if len(parts) == 1 else [part for part in parts if part.strip()] or [""]
    mended_parts = [_mended(part) for part in parts]
    return (*(f"{part}\n" for part in mended_parts[:-1]), mended_parts[-1] + end)


def _unescaped(text: str) -> list[str]:
    """The lines of a text inside a string literal; the text itself where it is none."""
    if text.count("\\n") < MARKS_OF_AN_ESCAPED_TEXT:
        return [text]
    return _ESCAPED_LETTER.sub(
        lambda match: _LETTER_OF.get(match[1]) or chr(int(match[1][1:], 16) if match[1][0] == "u" else 32), text
    ).split("\n")


def _mended(text: str) -> str:
    text = without_prefix(_CONTROL.sub("", text))
    if "&" in text:
        text = _ENTITY.sub(_character, text)
    if not text.isascii():
        text = _SPACED_DIGITS.sub(lambda match: re.sub(r"\D", "", match[0]), text).translate(_TYPOGRAPHY)
    if "<" in text:
        text = _TAG.sub(" ", text) if "<t" in text.lower() else _TAG.sub("", text)
    if "[" in text:
        text = _BOARD_TAG.sub("", text)
    if "\\" in text:
        text = _ESCAPED_PUNCTUATION.sub(r"\1", text)
    if "\t" in text:
        text = text.expandtabs(8)
    if _FENCE.fullmatch(text):
        return ""
    if (string := _STRING.fullmatch(text)) and not text.startswith("  ("):
        text = string[2]
    return _without_bars(without_prefix(text))


def _character(match: re.Match[str]) -> str:
    name = match[1]
    if not name.startswith("#"):
        return _NAMED[name]
    code = int(name[2:], 16) if name[1] in "xX" else int(name[1:])
    return chr(code) if 32 <= code < 0xD800 else " "


def without_prefix(text: str) -> str:
    """A line without what mail and logs put before it."""
    for _ in range(MAX_PREFIXES):
        before = text
        if match := _QUOTE.match(text):
            text = text[match.end() :]
        for pattern in _PREFIXES if text[:1] not in ("", " ") or text[:8].strip()[:1].isdigit() else ():
            if match := pattern.match(text):
                text = text[match.end() :]
                break
        if text == before:
            break
    return text


def _without_bars(text: str) -> str:
    """A table's row with spaces where its bars are."""
    bars = text.count("|")
    if not bars or (bars == 1 and not text.lstrip().startswith("|") and not re.search(r"\S +\| +\S", text)):
        return text
    return text.replace("|", " ")
