"""Changes of settings for a terminal: ``-`` before and ``+`` after, in one colour, since neither of them is the better one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from clientscope.api.clients import SettingChange
from clientscope.report.text import plain


def change_lines(changes: Sequence[SettingChange] | None, none: str) -> Iterator[Text]:
    """The lines of one difference.

    Args:
        changes: None where there is nothing to compare with.
        none: what is printed for that.
    """
    if changes is None:
        yield plain(none, "dim")
    elif not changes:
        yield plain("no setting changed", "dim")
    else:
        for change in changes:
            if change.before is not None:
                yield plain(f"- {change.key} = {change.before}")
            if change.after is not None:
                yield plain(f"+ {change.key} = {change.after}")


def indented(lines: Iterable[Text]) -> Padding:
    """Lines below a heading; what is folded is indented too."""
    return Padding(Group(*lines), (0, 0, 0, 2))
