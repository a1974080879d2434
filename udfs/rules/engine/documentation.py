"""Documentation of a rule: the docstring of its function, in sections."""

from __future__ import annotations

import inspect
import re
import textwrap
from dataclasses import dataclass

SECTIONS = ("What", "Why", "Example", "Use instead", "Source")


@dataclass(frozen=True)
class Documentation:
    """Sections are plain text, in which ``…`` is code.

    Attributes:
        title: one sentence.
        links: the addresses in ``source``, the first of which is where to read on.
    """

    title: str
    what: str
    why: str
    example: str
    use_instead: str
    source: str
    links: tuple[str, ...]


def parse(docstring: str) -> Documentation:
    """
    Raises:
        ValueError: it doesn't begin with ``CODE: title``, or hasn't all of `SECTIONS` in their order.
    """
    first, _, rest = inspect.cleandoc(docstring).partition("\n")
    title = re.fullmatch(r"[A-Z]{2}\d{3}: (.+)", first)
    found = re.split(rf"^({'|'.join(SECTIONS)})$", rest, flags=re.MULTILINE)
    if title is None or tuple(found[1::2]) != SECTIONS:
        raise ValueError(f"a rule's docstring begins with its code and title, and has these sections: {', '.join(SECTIONS)}")
    what, why, example, use_instead, source = (textwrap.dedent(text).strip("\n ") for text in found[2::2])
    return Documentation(title[1], what, why, example, use_instead, source, tuple(re.findall(r"https://[^\s,;)]+", source)))
