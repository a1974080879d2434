"""Comments in settings files that ignore a finding: ``# clientscope: ignore[AN112] reason``.

A comment counts for the setting on its own line, or else on the next line that is no comment; of findings that have no place in the file,
one counts wherever it is.  Without a reason it counts for nothing.  Leaks of secrets can't be ignored so: who may write a file may not be
who decides that.  JSON has no comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from clientscope.commands.lint.located import LINE_END
from clientscope.commands.lint.shown import plain
from clientscope.profiles.client_patterns import ClientPattern
from clientscope.profiles.suppressions import ENDLESS, Suppression

_IGNORE = re.compile(r"(?:^|\s)[#!]\s*clientscope:\s*ignore\[([^\]]{0,200})\]\s*(.*)")
_COMMENT = re.compile(r"\s*(?:[#!].*)?")
_CODE = re.compile(r"[A-Z]{2}\d{3}")
MOST = 200
"""Comments of a file that are read."""


class Ignored(NamedTuple):
    """One code of a comment.

    Attributes:
        line: of the comment; ``about`` is the line of the setting that it is about, 0 for none.
    """

    code: str
    line: int
    about: int
    reason: str


def read(content: bytes, file_format: str) -> tuple[list[Ignored], list[tuple[int, str]]]:
    """What a file's comments ignore, and a note for each comment that counts for nothing."""
    if file_format == "json":
        return [], []
    made: list[Ignored] = []
    notes: list[tuple[int, str]] = []
    lines = LINE_END.split(content.decode("utf-8", "replace"))
    for number, line in enumerate(lines, 1):
        if not (found := _IGNORE.search(line)):
            continue
        if len(made) >= MOST:
            notes.append((number, f"only the first {MOST} comments that ignore something are read"))
            break
        codes = [code.strip() for code in found[1].split(",")]
        reason = plain(found[2].strip())
        own_line = _COMMENT.fullmatch(line) is not None
        if file_format == "properties" and not own_line:
            continue  # a properties file has no comment behind a value: it is part of it
        following = (after for after in range(number + 1, len(lines) + 1) if not _COMMENT.fullmatch(lines[after - 1]))
        about = next(following, 0) if own_line else number
        if problem := _problem(codes, reason):
            notes.append((number, f"this comment ignores nothing: {problem}"))
            continue
        made += [Ignored(code, number, about, reason) for code in codes]
    return made, notes


def _problem(codes: Iterable[str], reason: str) -> str:
    for code in codes:
        if not _CODE.fullmatch(code):
            return "expected codes of rules, such as ignore[AN112, CF105]"
        if code.startswith("SK"):
            return f"{code} is about a secret, which only the rules file can suppress"
    return "" if reason else "a reason has to follow, behind the bracket"


def ignoring(ignored: Iterable[Ignored], path: str, code: str, line: int | None, lines: Iterable[int]) -> Suppression | None:
    """The suppression by the first comment that ignores a finding; None where there is none.

    Args:
        line: of the finding's value; None where it has no place in the file.
        lines: of its settings.
    """
    about = {line, *lines}
    for each in ignored:
        if each.code == code and (line is None or each.about in about):
            return Suppression(code, ClientPattern(), each.reason, ENDLESS, f"{path}:{each.line}")
    return None
