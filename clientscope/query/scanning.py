"""Scanner: a query's text into single values."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clientscope.query.error import QueryError

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ESCAPED = ('"', "\\")


@dataclass(frozen=True)
class SearchValue:
    """A value as it was written.

    Attributes:
        parts: between its stars.
        quoted: whether any of it stood in quotes.
        begin, end: its place.
    """

    parts: tuple[str, ...]
    quoted: bool
    begin: int
    end: int

    @property
    def text(self) -> str | None:
        """None where there is a star in it."""
        return self.parts[0] if len(self.parts) == 1 else None


class Scanner:
    """A place in a text.

    Attributes:
        at: the place, in characters from 0.
        depth: how many parentheses are open here.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0
        self.depth = 0
        if control := _CONTROL.search(text):
            raise QueryError("control characters are not allowed here", control.start(), 1)

    def skip_space(self) -> bool:
        """Goes past white space; returns whether anything follows."""
        while self.at < len(self._text) and self._text[self.at].isspace():
            self.at += 1
        return self.at < len(self._text)

    def is_at_break(self) -> bool:
        """Whether nothing follows here, or white space, a comma, or the end of what is in parentheses."""
        return self.at >= len(self._text) or self._text[self.at].isspace() or self._text[self.at] == "," or self.is_at_end()

    def is_at_end(self) -> bool:
        """Whether what is in parentheses ends here."""
        return self.depth > 0 and self._text.startswith(")", self.at)

    def take(self, character: str) -> bool:
        """Goes past a character, if it is here."""
        found = self._text.startswith(character, self.at)
        self.at += len(character) * found
        return found

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What a pattern finds here; goes nowhere."""
        return pattern.match(self._text, self.at)

    def value(self, stops: str) -> SearchValue:
        """The value that begins here.

        Args:
            stops: what ends it outside of quotes: a space in it means any white space.  So does a parenthesis that was opened before it.

        Raises:
            QueryError: a quote is not closed.
        """
        begin, parts, piece, quoted, own = self.at, [], "", False, 0
        while self.at < len(self._text):
            character = self._text[self.at]
            if (" " in stops and character.isspace()) or character in stops or (not own and self.is_at_end()):
                break
            self.at += 1
            own = max(0, own + (character == "(") - (character == ")"))
            if character == '"':
                quoted = True
                piece += self._in_quotes(self.at - 1)
            elif character == "*":
                parts.append(piece)
                piece = ""
            else:
                piece += character
        parts.append(piece)
        return SearchValue(_without_repeated_stars(parts), quoted, begin, self.at)

    def _in_quotes(self, begin: int) -> str:
        found = ""
        while self.at < len(self._text):
            character = self._text[self.at]
            self.at += 1
            if character == '"':
                return found
            if character == "\\" and self._text[self.at : self.at + 1] in _ESCAPED:
                character = self._text[self.at]
                self.at += 1
            found += character
        raise QueryError("this quote is not closed", begin, len(self._text) - begin, ('"',))


def _without_repeated_stars(parts: list[str]) -> tuple[str, ...]:
    """``a**b`` is ``a*b``: an empty part between two others says nothing."""
    return tuple(part for number, part in enumerate(parts) if part or number in (0, len(parts) - 1))
