"""Scaffolds: an implementation, or a whole operator, that cannot be taken for finished.

Every place to write in carries MARK. The scaffold's kernel stops its compiler, its `run` raises NotImplementedError, and
`warplore check` names each MARK with its line until the last is gone.
"""

from __future__ import annotations

import ast
import datetime
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from indexer.errors import InputError, did_you_mean
from indexer.records import ZooRecord
from kernel_wiki.harness import discover
from retriever.champions import present_champion
from retriever.zoo import zoo_folder

if TYPE_CHECKING:
    from retriever.service import Warplore

MARK = "FILL IN"
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
LANGUAGES = {"triton": (".py",), "cuda": (".py", ".cu")}
"""Files of an implementation beside its page."""
TARGETS = {"triton": ("sm_80", "sm_89", "sm_90", "sm_100", "sm_120"), "cuda": ("sm_80", "sm_90", "sm_100", "sm_120")}
"""What a page starts with where no parent says better."""
BOUNDS = ("bandwidth", "matrix")
WRONG = ("dropped_tail", "cached_output")
"""The two mistakes that nearly every operator can be got wrong by."""
WIDTH = 120


@dataclass(frozen=True, slots=True)
class Answers:
    """What was given as options; None is still to be asked."""

    language: str | None = None
    parent: str | None = None
    """An id, `none`, or None for the present champion."""
    family: str | None = None
    bound: str | None = None
    dtypes: str | None = None
    impl: str | None = None
    wrong: tuple[str, ...] = WRONG


Ask = Callable[[str, str, str | None], str | None]
"""`(option, question, default)` to the answer, the default, or None where nobody can be asked."""


@dataclass(frozen=True, slots=True)
class Scaffold:
    """Files to write, and what to do then."""

    files: dict[Path, str]
    next: tuple[str, ...]


def scaffold(core: Warplore, name: str, answers: Answers, ask: Ask, today: datetime.date) -> Scaffold:
    """The files of `OPERATOR/IMPL`, or of a new `OPERATOR`; writes nothing.

    Raises:
        InputError: a name is none or is taken, or an answer is missing or not allowed.
    """
    operator, _, impl = name.removeprefix("zoo/").strip("/").partition("/")
    _check_name(operator, "an operator")
    exists = operator in discover.operators(zoo_folder(core))
    if exists and not impl:
        raise InputError(f'operator "{operator}" exists; for another implementation: warplore zoo new {operator}/NAME')
    if not exists and impl:
        raise InputError(f'no operator "{operator}"; make it first: warplore zoo new {operator} --impl {impl}')
    made = _implementation(core, operator, impl, answers, ask, today) if exists else _operator(core, operator, answers, ask, today)
    taken = [path for path in made.files if path.exists()]
    if taken:
        raise InputError(f"{taken[0]} exists; nothing was written")
    return made


def write(made: Scaffold) -> list[Path]:
    """Write the files, none of which may exist.

    Raises:
        InputError: the folder cannot be written.
    """
    try:
        for path, text in made.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be written ({error.strerror})") from error
    return list(made.files)


def placeholders(path: Path) -> list[tuple[int, str]]:
    """`(line number, what is to be written there)` for each MARK in a file."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return [(number, line[line.index(MARK) :].split('"')[0].strip()) for number, line in enumerate(lines, start=1) if MARK in line]


def _implementation(core: Warplore, operator: str, impl: str, answers: Answers, ask: Ask, today: datetime.date) -> Scaffold:
    _check_name(impl, "an implementation")
    language = _language(impl, answers, ask)
    siblings = [record for record in core.entries("zoo") if isinstance(record, ZooRecord) and record.id.startswith(f"zoo/{operator}/")]
    parent = _parent(core, operator, [record.id for record in siblings], answers, ask)
    model = next((record for record in siblings if record.id == parent), siblings[0] if siblings else None)
    family = answers.family or (model.families[0] if model else None)
    words = {
        "families": _words(core, "families", "--family", "family of the operator", family, None, ask),
        "techniques": model.techniques if model else ("coalescing",),
        "bottlenecks": model.bottlenecks if model else ("dram-bandwidth",),
        "dtypes": model.dtypes
        if model and not answers.dtypes
        else _words(core, "dtypes", "--dtypes", "dtypes", answers.dtypes, "fp32", ask),
        "languages": (language,),
        "targets": model.targets if model and language in model.languages else TARGETS[language],
    }
    folder = zoo_folder(core) / operator
    signature = _signature(folder / "contract.py")
    files = {folder / f"{impl}.md": _page(core, operator, language, words, parent, today)}
    for suffix in LANGUAGES[language]:
        files[folder / f"{impl}{suffix}"] = _fill(core, f"{language}{suffix}", operator, impl, signature=signature)
    return Scaffold(files, _next_steps(operator, impl, language))


def _operator(core: Warplore, operator: str, answers: Answers, ask: Ask, today: datetime.date) -> Scaffold:
    language = _choose(ask, "--language", "language of the first implementation", answers.language, "triton", tuple(LANGUAGES))
    impl = answers.impl or ask("--impl", "name of the first implementation", f"{language}_simple") or ""
    _check_name(impl, "an implementation")
    families = _words(core, "families", "--family", "family of the operator", answers.family, None, ask)
    bound = _choose(ask, "--bound", "what limits it", answers.bound, "bandwidth", BOUNDS)
    dtypes = _words(core, "dtypes", "--dtypes", "dtypes, between commas", answers.dtypes, "fp32", ask)
    for name in answers.wrong:
        _check_name(name, "a wrong variant")
    words = {
        "families": families,
        "techniques": ("coalescing",),
        "bottlenecks": ("tensor-underused" if bound == "matrix" else "dram-bandwidth",),
        "dtypes": dtypes,
        "languages": (language,),
        "targets": TARGETS[language],
    }
    folder = zoo_folder(core) / operator
    files = {folder / "contract.py": _fill(core, "contract.py", operator, impl, bound=bound, dtype=dtypes[0])}
    files[folder / f"{impl}.md"] = _page(core, operator, language, words, None, today)
    for suffix in LANGUAGES[language]:
        files[folder / f"{impl}{suffix}"] = _fill(core, f"{language}{suffix}", operator, impl, signature="see contract.py")
    for name in answers.wrong:
        files[folder / f"wrong_{name}.py"] = _fill(core, "wrong.py", operator, f"wrong_{name}")
    return Scaffold(files, _next_steps(operator, impl, language))


def _language(impl: str, answers: Answers, ask: Ask) -> str:
    """As given, else as the name starts, else as asked."""
    named = impl.split("_")[0]
    if answers.language and named in LANGUAGES and named != answers.language:
        raise InputError(f'"{impl}" says {named}, --language says {answers.language}')
    given = answers.language or (named if named in LANGUAGES else None)
    return _choose(ask, "--language", "language", given, None, tuple(LANGUAGES))


def _parent(core: Warplore, operator: str, known: list[str], answers: Answers, ask: Ask) -> str | None:
    default = answers.parent or present_champion(core, operator) or "none"
    chosen = answers.parent or ask("--parent", "the implementation that it improves on, or none", default) or "none"
    if chosen == "none":
        return None
    id = chosen if chosen.startswith("zoo/") else f"zoo/{chosen}" if "/" in chosen else f"zoo/{operator}/{chosen}"
    if id not in known:
        raise InputError(
            f'--parent "{chosen}" is no implementation of {operator}{did_you_mean(id, known) or ";"} there are: {", ".join(known)}'
        )
    return id


def _choose(ask: Ask, option: str, question: str, given: str | None, default: str | None, allowed: tuple[str, ...]) -> str:
    chosen = given or ask(option, f"{question} ({' or '.join(allowed)})", default)
    if not chosen:
        raise InputError(f"{option} is needed: {question} ({' or '.join(allowed)})")
    if chosen not in allowed:
        raise InputError(f'{option} "{chosen}" is none of: {", ".join(allowed)}')
    return chosen


def _words(core: Warplore, kind: str, option: str, question: str, given: str | None, default: str | None, ask: Ask) -> tuple[str, ...]:
    """Words of the vocabulary, given between commas."""
    allowed = core.vocabulary.ids(kind)
    text = given or ask(option, question, default)
    if not text:
        raise InputError(f"{option} is needed: {question}; one of: {', '.join(allowed)}")
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    for word in words:
        if word not in allowed:
            raise InputError(
                f'{option} "{word}" is no word of the vocabulary{did_you_mean(word, list(allowed)) or ";"} see kernel_wiki/vocabulary.yaml'
            )
    return words


def _check_name(name: str, what: str) -> None:
    if not NAME.fullmatch(name):
        raise InputError(f'"{name}" cannot name {what}; take lower-case words joined by _, such as warp_row')
    if what == "an implementation" and (name.startswith("wrong_") or name in ("contract", "wrong")):
        raise InputError(f'"{name}" cannot name an implementation; "contract" and "wrong_..." have their own meaning')


def _signature(contract: Path) -> str:
    """The contract's SIGNATURE, read and not imported."""
    for node in ast.parse(contract.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and any(isinstance(name, ast.Name) and name.id == "SIGNATURE" for name in node.targets):
            return str(ast.literal_eval(node.value))
    return "see contract.py"


def _fill(core: Warplore, template: str, operator: str, impl: str, **values: str) -> str:
    """A template of the zoo with its `the_...` names replaced."""
    text = (zoo_folder(core) / f"_template_{template}").read_text(encoding="utf-8")
    if "signature" in values:
        lines = textwrap.wrap(f"The contract: {values.pop('signature')}", WIDTH)
        text = text.replace("# The contract: the_signature", "\n".join(f"# {line}" for line in lines))
    kernel = f"{operator}_{impl.removeprefix('triton_').removeprefix('cuda_')}"
    for key, value in {"operator": operator, "impl": impl, "kernel": kernel, **values}.items():
        text = text.replace(f"the_{key}", value)
    return text


def _page(core: Warplore, operator: str, language: str, words: dict[str, tuple[str, ...]], parent: str | None, today: datetime.date) -> str:
    """Front matter, and the headings of `_template.md`, each with a MARK."""
    spoken = {"triton": "Triton", "cuda": "CUDA C++"}[language]
    front = {
        "title": f'"{MARK}: {operator}, the idea ({spoken})"',
        "summary": f'"{MARK}: what it computes, how it moves its data, and for which sizes it is meant."',
        **{key: f"[{', '.join(value)}]" for key, value in words.items()},
        "requires": "[]",
        **({"parent": parent} if parent else {}),
        "license": "Apache-2.0",
        "reviewed": today.isoformat(),
    }
    front["techniques"] += f"  # {MARK}: what makes it fast, from kernel_wiki/vocabulary.yaml"
    front["requires"] += f"  # {MARK}: hardware features without which it cannot run, or leave it empty"
    headings = re.findall(r"^## .+$", (zoo_folder(core) / "_template.md").read_text(encoding="utf-8"), re.MULTILINE)
    body = "\n\n".join(
        f"{heading}\n\n{MARK}: facts only, and no figure of ours: those are rendered from the record." for heading in headings
    )
    return "---\n" + "".join(f"{key}: {value}\n" for key, value in front.items()) + f"---\n\n{body}\n"


def _next_steps(operator: str, impl: str, language: str) -> tuple[str, ...]:
    id = f"{operator}/{impl}"
    small = (f"warplore zoo validate {id} --device cpu   # small cases in the interpreter",) if language == "triton" else ()
    return (
        f"replace every {MARK} (warplore check lists them)",
        f"python -m kernel_wiki.harness compile {id}   # needs no GPU",
        *small,
        f"warplore zoo validate {id}   # on a GPU; elsewhere: --host user@machine",
        "warplore check",
    )
