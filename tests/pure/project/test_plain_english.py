"""Plain English wherever a person reads: help, errors, page, docs, docstrings, comments and names in code avoid some words.

`SOURCES` has a source of texts in a line.
"""

from __future__ import annotations

import argparse
import ast
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path

import pytest
from places import ROOT

from clientscope.commands.command import Command, CommandGroup
from clientscope.commands.parser import parser
from clientscope.commands.registry import ENTRIES

PACKAGES = ("clientscope", "sinks", "streaming", "udfs")
FOLDERS = (*PACKAGES, "bench", "tests")

BANNED = re.compile(
    r"\b(?:told|tells? of|mend(?:s|ed|ing)?|whom|none of ours|nobody says|stands? in|tak(?:es?|en) down|"
    r"go(?:es|ing)? on|is another now|as ever|beforehand)\b",
    re.IGNORECASE,
)

NAMES = re.compile(
    r"\b(?:un)?told\b|\btell(?:s|er|ing)?\b|\bmend(?:s|ed|ing)?\b|\bwhom\b|\bwhoever\b|\bgo(?:es)? on\b|\bstands? in\b", re.IGNORECASE
)
"""The same for names in code."""

RELEASED = frozenset({"told_ms"})
"""Names of fields in records and answers, which never change."""

_CODE = re.compile(r"(`+)[^`]+\1")

Text = tuple[str, str]
"""Where a text is, and what it says."""


def helps() -> Iterator[Text]:
    """The help of every command and group, as it is printed."""
    yield from _helps(parser())


def _helps(of: argparse.ArgumentParser) -> Iterator[Text]:
    yield of.prog, of.format_help()
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _helps(below)


def errors_of(package: str) -> Iterator[Text]:
    """Every literal text, and hint, of an error that a package raises on purpose: `ClientscopeError` and what derives from it."""
    trees = _trees()
    names = _derived("ClientscopeError", trees.values())
    for path, tree in trees.items():
        for node in ast.walk(tree) if path.is_relative_to(ROOT / package) else ():
            if isinstance(node, ast.Call) and _name(node.func) in names:
                yield from _literals(path, [*node.args, *(keyword.value for keyword in node.keywords)])


@cache
def _trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for each in PACKAGES for path in sorted((ROOT / each).rglob("*.py"))}


def _derived(base: str, trees: Iterable[ast.Module]) -> set[str]:
    classes = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    names = {base}
    while more := {each.name for each in classes if {_name(parent) for parent in each.bases} & names} - names:
        names |= more
    return names


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _literals(path: Path, within: list[ast.expr]) -> Iterator[Text]:
    for argument in within:
        for node in ast.walk(argument):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def page() -> Iterator[Text]:
    """The string literals of the page's own scripts, and its HTML."""
    static = ROOT / "sinks" / "dashboard" / "static"
    for path in sorted({*static.rglob("*.js"), *static.rglob("*.html")}):
        if "vendor" in path.parts:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.split("//")[0] if path.suffix == ".js" else line
            yield f"{path.relative_to(ROOT)}:{number}", code


def docs() -> Iterator[Text]:
    """Each line of the pages under docs/, and of the pages beside them."""
    others = ("README.md", "CONTRIBUTING.md", "DESIGN.md", "SECURITY.md", "deploy/README.md", "checkpoints/README.md")
    for path in [*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / name for name in others)]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield f"{path.relative_to(ROOT)}:{number}", line


def deployed() -> Iterator[Text]:
    """What alerts and dashboards say."""
    for path in (ROOT / "deploy" / "prometheus" / "rules.yml", *sorted((ROOT / "deploy" / "grafana" / "dashboards").glob("*.json"))):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield f"{path.relative_to(ROOT)}:{number}", line


def docstrings_of(folder: str) -> Iterator[Text]:
    """Docstrings of modules, classes and functions, and those below constants and fields, without the names of code in them."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", _prose(node.value.value)


def comments_of(folder: str) -> Iterator[Text]:
    """Comments; those on lines that follow one another are one text, since a phrase may continue on the next line."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        with tokenize.open(path) as file:
            found = [token for token in tokenize.generate_tokens(file.readline) if token.type == tokenize.COMMENT]
        blocks: list[list[tokenize.TokenInfo]] = []
        for token in found:
            follows = bool(blocks) and blocks[-1][-1].start == (token.start[0] - 1, token.start[1])
            blocks[-1].append(token) if follows else blocks.append([token])
        for block in blocks:
            yield f"{path.relative_to(ROOT)}:{block[0].start[0]}", _prose(" ".join(token.string.lstrip("# ") for token in block))


def _prose(text: str) -> str:
    return " ".join(_CODE.sub("…", text).split())


def names_of_tests() -> Iterator[Text]:
    """Names of test functions, in words."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node.name.replace("_", " ")


def names_in(folder: str) -> Iterator[Text]:
    """Names of modules, classes, functions, parameters and variables, in words."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        found = {path.stem: 1}
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                    found.setdefault(name, node.lineno)
                case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                    found.setdefault(name, node.lineno)
        for name, line in found.items():
            if name not in RELEASED and not name.startswith("test_"):  # tests have names of whole sentences, and a source above
                yield f"{path.relative_to(ROOT)}:{line}", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ")


SOURCES: dict[str, Callable[[], Iterator[Text]]] = {
    "helps": helps,
    "deployed": deployed,
    **{f"errors of {package}": partial(errors_of, package) for package in PACKAGES},
    "page": page,
    "docs": docs,
    **{f"docstrings of {folder}": partial(docstrings_of, folder) for folder in FOLDERS},
    **{f"comments of {folder}": partial(comments_of, folder) for folder in FOLDERS},
    "names of tests": names_of_tests,
}

CODE = {f"names in {folder}": partial(names_in, folder) for folder in FOLDERS}


def banned(texts: Iterable[Text], words: re.Pattern[str]) -> list[str]:
    """Each use of a banned word."""
    return [f"{where}: {found[0]!r} in {text.strip()[:120]!r}" for where, text in texts for found in words.finditer(text)]


@pytest.mark.parametrize("source", SOURCES)
def test_the_guides_words_stay_out(source: str) -> None:
    assert banned(SOURCES[source](), BANNED) == []


@pytest.mark.parametrize("source", CODE)
def test_names_in_code_avoid_them_too(source: str) -> None:
    assert banned(CODE[source](), NAMES) == []


@pytest.mark.parametrize(
    ("source", "least"),
    [
        ("helps", 35),
        ("errors of clientscope", 300),
        ("errors of sinks", 60),
        ("errors of streaming", 50),
        ("page", 1000),
        ("docs", 1000),
        ("deployed", 1000),
        ("docstrings of clientscope", 1000),
        ("docstrings of tests", 1000),
        ("comments of clientscope", 200),
        ("comments of tests", 200),
        ("names of tests", 1000),
        ("names in clientscope", 5000),
        ("names in tests", 5000),
    ],
)
def test_a_source_finds_its_texts(source: str, least: int) -> None:
    """A source that finds nothing would be clean for ever."""
    assert len([text for _, text in (SOURCES | CODE)[source]() if text.strip()]) > least


def test_every_command_is_among_the_helps() -> None:
    def calls(entries: tuple[Command | CommandGroup, ...], before: str) -> Iterator[str]:
        for entry in entries:
            name = entry.words[-1] if isinstance(entry, Command) else entry.name
            yield f"{before} {name}"
            if isinstance(entry, CommandGroup):
                yield from calls(entry.commands, f"{before} {name}")

    assert {where for where, _ in helps()} == {"clientscope", *calls(ENTRIES, "clientscope")}
