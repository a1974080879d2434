"""Parser: text into terms, and into an order, with the place of every mistake."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import NamedTuple, cast

from clientscope.query.matching import require_library, with_libraries
from clientscope.query.terms import (
    NONE,
    NOT_JUDGED,
    Between,
    Choice,
    Compare,
    Condition,
    Field,
    FieldKind,
    Fields,
    Is,
    Operator,
    Pattern,
    Query,
    QueryError,
    Term,
    version_order,
)
from clientscope.severities import SEVERITIES

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ESCAPED = ('"', "\\")


def _without_repeated_stars(parts: list[str]) -> tuple[str, ...]:
    """``a**b`` is ``a*b``: an empty part between two others says nothing."""
    return tuple(part for number, part in enumerate(parts) if part or number in (0, len(parts) - 1))


MOST_KEYS = 5


class Key(NamedTuple):
    """One field to sort by."""

    field: str
    descending: bool = False


def parse_sort(text: str, fields: Collection[str]) -> tuple[Key, ...]:
    """What to sort by, the most important first; nothing for an empty text.

    Raises:
        QueryError: a field that can't be sorted by, or one twice, or too many.
    """
    found: list[Key] = []
    at = 0
    for part in text.split(",") if text.strip() else ():
        name = part.strip()
        begin = at + part.find(name) if name else at
        at += len(part) + 1
        key = Key(name.removeprefix("-").lower(), name.startswith("-"))
        if key.field not in fields:
            raise QueryError(f"this can't be sorted by {key.field[:64]!r}", begin, len(name), _nearest(key.field, fields))
        if any(each.field == key.field for each in found):
            raise QueryError(f"{key.field} is there twice", begin, len(name))
        found.append(key)
        if len(found) > MOST_KEYS:
            raise QueryError(f"at most {MOST_KEYS} fields", begin, len(name))
    return tuple(found)


def _nearest(name: str, fields: Collection[str]) -> tuple[str, ...]:
    """All fields, those that are written nearly so first."""
    near = get_close_matches(name, fields, 3)
    return (*near, *sorted(each for each in fields if each not in near))


LONGEST = 1_000
"""Characters of a query."""
MOST_TERMS = 30
MOST_DEEP = 8
"""Parentheses within each other."""
MOST_VALUES = 50
MOST_STARS = 8

_OR = re.compile(r"OR(?=[\s()]|$)")
_AND = re.compile(r"AND(?=[\s()]|$)")
_GROUP = re.compile(r"-?\(")
_CLOSED = re.compile(r"\)(?=[\s)]|$)")
_FIELD = re.compile(r"([A-Za-z_-]+):")
_OPERATOR = re.compile(r"<=|>=|<|>|=")
_UNITS_MS = {"s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_DURATION = re.compile(rf"(\d{{1,9}})({'|'.join(sorted(_UNITS_MS, key=len, reverse=True))})", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,15}", re.ASCII)
_VERSION = re.compile(r"v?\d+(\.\d+)*", re.ASCII)
_FLIPPED: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def parse(text: str, fields: Fields, now_ms: int = 0) -> Query:
    """What a query says.

    Args:
        now_ms: what durations are counted back from, in ms since the epoch.

    Raises:
        QueryError: it can't be read; says where, and what was expected.
    """
    if len(text) > LONGEST:
        raise QueryError(f"a query has at most {LONGEST} characters", LONGEST, len(text) - LONGEST)
    reader = _Reader(text, fields, now_ms)
    query = reader.any_of()
    if reader.skip_space():
        raise QueryError("this ) closes nothing", reader.at, 1, ('")"',))
    require_library(query, fields)
    return with_libraries(query, fields)


class _Reader:
    """A query that is being read.

    Attributes:
        at: the place, in characters from 0.
    """

    def __init__(self, text: str, fields: Fields, now_ms: int) -> None:
        self._text, self._fields, self._now_ms = text, fields, now_ms
        self.at = 0
        self._depth = 0
        """How many parentheses are open here."""
        self._terms = 0
        """How many were read."""
        if control := _CONTROL.search(text):
            raise QueryError("control characters are not allowed here", control.start(), 1)

    def any_of(self) -> Query:
        """All up to the end, or to the parenthesis that closes it."""
        found = [self._all_of()]
        while match := self._match(_OR):
            begin, self.at = self.at, match.end()
            found.append(self._all_of())
            if not found[-1].terms or not found[-2].terms:
                raise QueryError("OR stands between two terms", begin, 2, ("a OR b", '"OR"'))
        return found[0] if len(found) == 1 else Query((Choice(tuple(found)),))

    def _all_of(self) -> Query:
        """Terms and parentheses, up to an OR or the end."""
        parts: list[Term | Choice] = []
        while self.skip_space() and not self._is_at_end() and not self._match(_OR):
            if (and_ := self._match(_AND)) is not None:
                begin, self.at = self.at, and_.end()
                if not parts or not self.skip_space() or self._is_at_end() or self._match(_OR) or self._match(_AND):
                    raise QueryError("AND stands between two terms", begin, 3, ("a b", '"AND"'))
            elif (group := self._match(_GROUP)) is not None:
                inner = self._in_parentheses(group)
                parts += inner.terms if group[0] == "(" else (Choice((inner,), negated=True),)
            elif self._match(_CLOSED):
                break
            else:
                self._terms += 1
                if self._terms > MOST_TERMS:
                    raise QueryError(f"a query has at most {MOST_TERMS} terms", self.at, 1)
                parts.append(self._term())
        return Query(tuple(parts))

    def _in_parentheses(self, group: re.Match[str]) -> Query:
        if self._depth >= MOST_DEEP:
            raise QueryError(f"parentheses are at most {MOST_DEEP} deep", group.start(), 1)
        self.at = group.end()
        self._depth += 1
        query = self.any_of()
        if not self._take(")"):
            raise QueryError("this ( is not closed", group.end() - 1, 1, (")",))
        self._depth -= 1
        if not query.terms:
            raise QueryError("there is nothing in these parentheses", group.start(), self.at - group.start(), ("(a OR b)", '"("'))
        return query

    def _term(self) -> Term:
        begin = self.at
        negated = self._take("-")
        if negated and self._is_at_break():
            raise QueryError("- has no term after it", begin, 1, ("-field:value", "-word", '"-"'))
        field = self._field()
        any_of = self._conditions(field) if field else (self._word(),)
        return Term(field.name if field else None, any_of, negated, begin, self.at - begin)

    def _field(self) -> Field | None:
        found = self._match(_FIELD)
        if found is None:
            return None
        name = found[1].lower().replace("-", "_")
        if name in self._fields:
            self.at = found.end()
            return self._fields[name]
        if found[1] != found[1].lower():
            return None  # a word with a colon in it, such as User:alice
        raise QueryError(f"there is no field {found[1]}", found.start(), len(found[1]), _nearest(name, self._fields))

    def _word(self) -> Pattern:
        begin = self.at
        pattern, _ = self._value()
        if not any(pattern.parts):
            raise QueryError("there is nothing to search for", begin, self.at - begin, ("word", "field:value"))
        return pattern

    def _conditions(self, field: Field) -> tuple[Condition, ...]:
        found: list[Condition] = []
        while True:
            begin = self.at
            match = self._match(_OPERATOR)
            if match:
                self.at = match.end()
            if self._is_at_break():
                raise QueryError(f"{field.name}: has no value", self.at, 0, field.expected)
            pattern, quoted = self._value(stop=",")
            given = _Given(field, cast(Operator, match[0] if match else "="), pattern, quoted, self._now_ms, begin, self.at - begin)
            found.append(_READ[field.kind](given))
            if len(found) > MOST_VALUES:
                raise QueryError(f"at most {MOST_VALUES} values", begin, self.at - begin)
            if not self._take(","):
                return tuple(found)

    def skip_space(self) -> bool:
        """Goes past white space; returns whether anything follows."""
        while self.at < len(self._text) and self._text[self.at].isspace():
            self.at += 1
        return self.at < len(self._text)

    def _is_at_break(self) -> bool:
        """Whether nothing follows here, or white space, a comma, or the end of what is in parentheses."""
        return self.at >= len(self._text) or self._text[self.at].isspace() or self._text[self.at] == "," or self._is_at_end()

    def _is_at_end(self) -> bool:
        """Whether what is in parentheses ends here."""
        return self._depth > 0 and self._text.startswith(")", self.at)

    def _take(self, character: str) -> bool:
        """Goes past a character, if it is here."""
        found = self._text.startswith(character, self.at)
        self.at += len(character) * found
        return found

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What a pattern finds here; goes nowhere."""
        return pattern.match(self._text, self.at)

    def _value(self, stop: str = "") -> tuple[Pattern, bool]:
        """The value that begins here, and whether any of it stands in quotes.

        Args:
            stop: what ends it outside of quotes, as do white space and a parenthesis that was opened before it.

        Raises:
            QueryError: a quote is not closed, or there are too many stars.
        """
        begin, parts, piece, quoted, own = self.at, [], "", False, 0
        while self.at < len(self._text):
            character = self._text[self.at]
            if character.isspace() or character == stop or (not own and self._is_at_end()):
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
        pattern = Pattern(_without_repeated_stars(parts))
        if len(pattern.parts) - 1 > MOST_STARS:
            raise QueryError(f"at most {MOST_STARS} stars in one value", begin, self.at - begin)
        return pattern, quoted

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


@dataclass(frozen=True)
class _Given:
    """What stands behind a field and its colon; without an operator it is ``=``.

    Attributes:
        quoted: whether any of it stood in quotes.
        begin, length: its place.
    """

    field: Field
    operator: Operator
    pattern: Pattern
    quoted: bool
    now_ms: int
    begin: int
    length: int

    @property
    def text(self) -> str:
        """Empty where there is a star in it."""
        return self.pattern.text or ""

    @property
    def word(self) -> str:
        return self.text.lower()

    def wrong(self, what: str) -> QueryError:
        return QueryError(what, self.begin, self.length, self.field.expected)


def _text(given: _Given) -> Condition:
    if given.operator != "=":
        raise given.wrong(f"{given.field.name} has no order: {given.operator} means nothing here")
    return given.pattern


def _version(given: _Given) -> Condition:
    if given.operator == "=":
        return given.pattern
    order = version_order(given.text) if _VERSION.fullmatch(given.text) else None
    if order is None:
        raise given.wrong("this is no version to compare with")
    return Compare(given.operator, order)


def _number(given: _Given) -> Condition:
    if not _NUMBER.fullmatch(given.text):
        raise given.wrong(f"{given.field.name} is a number")
    return Compare(given.operator, int(given.word))


def _severity(given: _Given) -> Condition:
    if given.word not in SEVERITIES:
        raise given.wrong("this is no severity")
    return Compare(given.operator, [*SEVERITIES].index(given.word))


def _finding(given: _Given) -> Condition:
    if given.word in SEVERITIES or given.operator != "=":
        return _severity(given)
    if given.word in (NONE, NOT_JUDGED):
        return Is(given.word)
    if not given.quoted and not re.fullmatch(r"[a-z]{2}\d{0,4}", given.word) and given.pattern.text is not None:
        raise given.wrong("this is no severity, nor a rule's code")
    return given.pattern


def _choice(given: _Given) -> Condition:
    choices = given.field.choices
    if given.operator != "=" or (given.word not in choices and not given.quoted):
        raise given.wrong(f"{given.field.name} is one of {', '.join(choices)}")
    return Pattern((given.word,))


def _time(given: _Given) -> Condition:
    text, operator = given.text, given.operator
    if (duration := _DURATION.fullmatch(text)) and operator != "=":
        return Compare(_FLIPPED[operator], given.now_ms - int(duration[1]) * _UNITS_MS[duration[2]])
    try:
        at = datetime.fromisoformat(text)
        first = int(at.replace(tzinfo=at.tzinfo or UTC).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise given.wrong(f"{given.field.name} is a date, or < or > and how long ago") from None
    if operator != "=":
        return Compare(operator, first)
    whole = timedelta(days=1) if _DATE.fullmatch(text) else timedelta(minutes=1)
    return Between(first, first + int(whole.total_seconds() * 1000))


_READ: dict[FieldKind, Callable[[_Given], Condition]] = {
    FieldKind.TEXT: _text,
    FieldKind.VERSION: _version,
    FieldKind.NUMBER: _number,
    FieldKind.SEVERITY: _severity,
    FieldKind.FINDING: _finding,
    FieldKind.TIME: _time,
    FieldKind.CHOICE: _choice,
}
