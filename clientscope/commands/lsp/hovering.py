"""Hover: what ``clientscope explain`` says of a setting, in the library and release that the file is judged by."""

from __future__ import annotations

from clientscope.catalog.dialects import DIALECTS
from clientscope.commands.explain import explaining
from clientscope.commands.lint.findings import Read
from clientscope.commands.lint.located import Placed
from clientscope.commands.lsp.documents import owners


def hover(read: Read, placed: Placed) -> str | None:
    """About a setting of a file; of a name that its library doesn't know, what another library has under it; None for neither."""
    for subject, own in owners(read, placed.name):
        if found := explaining.explained(subject.dialect, own, subject.version):
            return "\n".join(explaining.text(found))
    for _, own in owners(read, placed.name):
        others = (explaining.explained(dialect, own, "unknown") for dialect in DIALECTS)
        if found := next((each for each in others if each and each["name"] == own), None):
            return "\n".join(explaining.text(found))
    return None
