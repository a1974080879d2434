"""Terms of a parsed query, as values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase
from typing import Literal

Operator = Literal["<", "<=", ">", ">=", "="]

_FOLD = str.maketrans(ascii_uppercase, ascii_lowercase)
_PLAIN = re.compile(r"[^\s\"*,\\:<>=()-][^\s\"*,\\()]*")


def fold(text: str) -> str:
    """The text with ASCII letters in lower case: how texts are compared, in SQL too."""
    return text.translate(_FOLD)


@dataclass(frozen=True)
class Pattern:
    """A text, or its parts with anything between them.

    Attributes:
        parts: never empty; a text alone is one part.
    """

    parts: tuple[str, ...]

    @property
    def text(self) -> str | None:
        """What it is equal to; None where it is a pattern."""
        return self.parts[0] if len(self.parts) == 1 else None

    def matches(self, value: str | None) -> bool:
        """Whether a value is one of these; the empty text is meant by those that have none."""
        if value is None:
            return self.parts == ("",)
        text, first, last = fold(value), fold(self.parts[0]), fold(self.parts[-1])
        if len(self.parts) == 1:
            return text == first
        if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
            return False
        at, end = len(first), len(text) - len(last)
        # The leftmost place of each part leaves most room for the others.
        for part in map(fold, self.parts[1:-1]):
            at = text.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return True

    def within(self, text: str) -> bool:
        """Whether a text in lower case has the parts in it, in their order."""
        at = 0
        for part in self.parts:
            at = text.find(part.lower(), at)
            if at < 0:
                return False
            at += len(part)
        return True


@dataclass(frozen=True)
class Compare:
    """A comparison; ``value`` is a number, or of a version `clientscope.query.versions.version_order`'s text."""

    operator: Operator
    value: int | str


@dataclass(frozen=True)
class Between:
    """From ``first``, to before ``end``."""

    first: int
    end: int


@dataclass(frozen=True)
class Is:
    """A state with a name: ``none`` or ``not-judged`` of findings."""

    name: str


Condition = Pattern | Compare | Between | Is


@dataclass(frozen=True)
class Term:
    """One term.

    Attributes:
        field: None for a word that is searched for.
        any_of: at least one.
        position, length: its place, in characters.
        library: it is about the library underneath (`clientscope.query.libraries`); of a client without one it holds never.
    """

    field: str | None
    any_of: tuple[Condition, ...]
    negated: bool = False
    position: int = 0
    length: int = 0
    library: bool = False


@dataclass(frozen=True)
class Choice:
    """Queries of which at least one must hold: what is in parentheses, or on the sides of ``OR``.

    Attributes:
        any_of: at least one.
    """

    any_of: tuple[Query, ...]
    negated: bool = False


@dataclass(frozen=True)
class Query:
    """Terms and choices, which must all hold; none leaves everything."""

    terms: tuple[Term | Choice, ...] = ()

    def asks_for(self, field: str) -> bool:
        """Whether a term is about this field."""
        return any(term.field == field for term in self.each())

    def each(self) -> Iterator[Term]:
        """Every term, of choices too."""
        for part in self.terms:
            if isinstance(part, Choice):
                for query in part.any_of:
                    yield from query.each()
            else:
                yield part


def term_text(field: str, *values: str | int | None) -> str:
    """A term that leaves those whose field is just one of the values; None for those that have none."""
    return f"{field}:{','.join(_quoted('' if value is None else str(value)) for value in values)}"


def _quoted(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
