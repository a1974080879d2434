"""Code actions: what ``clientscope lint --fix`` corrects, one line at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from clientscope.commands.lint import fixing
from clientscope.commands.lint.findings import Read


class Action(NamedTuple):
    """A correction of a line (from 0); ``text`` is the line after it, None where the line is taken out."""

    title: str
    line: int
    text: str | None


def actions(read: Read, content: bytes, is_properties: bool, first: int, last: int) -> Iterator[Action]:
    """The corrections of the lines from ``first`` to ``last``, both included."""
    for each in fixing.corrections(read, content, is_properties):
        if first <= each.line - 1 <= last:
            after = None if each.after is None else each.after.encode("latin-1").decode("utf-8", "replace")
            title = f"take out {each.safe_before}, the default" if each.safe_after is None else f"correct to {each.safe_after}"
            yield Action(title, each.line - 1, after)
