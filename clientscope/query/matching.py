"""Matching of values in memory with a query, by both names of a client's software: the announced one (KIP-511) and the library underneath.

confluent-kafka-python announces ``2.16.1-rdkafka-2.16.0``, and is librdkafka 2.16.0 too.  A version is of the name that stands beside it:
2.6 of librdkafka says nothing about 2.6 of another.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from clientscope.query.terms import (
    NONE,
    NOT_JUDGED,
    Between,
    Choice,
    Compare,
    Condition,
    FieldKind,
    Fields,
    Is,
    Pattern,
    Query,
    QueryError,
    Term,
    version_order,
)
from clientscope.severities import SEVERITIES

SOFTWARE, VERSION = "software", "version"
NO_LIBRARY = (None, None)
_ITS_LIBRARY = ("-", "rdkafka-")
"""What a binding's announced version has between its own version and librdkafka's, with anything in between."""


@lru_cache(maxsize=10_000)
def library_of(software: str, version: str) -> tuple[str | None, str | None]:
    """Name and version of the library underneath, as the catalogue names it; `NO_LIBRARY` if there is none of another name."""
    from clientscope.catalog.dialects import dialect_of  # noqa: PLC0415 - the command line would read the catalogue at its start

    dialect = dialect_of(software)
    if dialect is None or dialect.name == software.lower():
        return NO_LIBRARY
    return dialect.name, ".".join(map(str, dialect.numbers_of(version))) or None


def with_libraries(query: Query, fields: Fields) -> Query:
    """The same query, which finds what is built on a library too: software and the versions beside it are of one of the two names."""
    return _expanded(query) if SOFTWARE in fields and fields[VERSION].within == SOFTWARE else query


def _expanded(query: Query) -> Query:
    if SOFTWARE not in _named(query):
        return _beside(query, None)
    return Query((Choice((_beside(query, False), _beside(query, True))),))


def _beside(query: Query, library: bool | None) -> Query:
    """A query beside the announced name, or the library's, or none."""
    return Query(tuple(each for part in query.terms for each in _of(part, library)))


def _of(part: Term | Choice, library: bool | None) -> Iterator[Term | Choice]:
    """What is beside a name is of it; a negated term about software, and a negated choice that names software itself, are not.

    What isn't is of either of both names or versions, or of a negated term of neither.
    """
    if isinstance(part, Choice):
        queries = (
            _expanded(query) if library is None or (part.negated and SOFTWARE in _named(query)) else _beside(query, library)
            for query in part.any_of
        )
        yield replace(part, any_of=tuple(queries))
    elif part.field not in (SOFTWARE, VERSION):
        yield part
    elif library is not None and (part.field == VERSION or not part.negated):
        yield _term(part, library)
    elif part.negated:
        yield from (_term(part, library) for library in (False, True))
    else:
        yield Choice(tuple(Query((_term(part, library),)) for library in (False, True)))


def _term(term: Term, library: bool) -> Term:
    if library:
        return replace(term, library=True)
    exact = (each.text for each in term.any_of if isinstance(each, Pattern) and each.text)
    own = tuple(Pattern((text + _ITS_LIBRARY[0], _ITS_LIBRARY[1], "")) for text in exact if term.field == VERSION)
    return replace(term, any_of=term.any_of + own)


def require_library(query: Query, fields: Fields) -> None:
    """Accepts a query whose version bounds each stand beside the name of a library.

    Raises:
        QueryError: one doesn't; says which, and how to name the library.
    """
    _check(query, fields, frozenset())


def _check(query: Query, fields: Fields, named: frozenset[str]) -> None:
    """``named``: fields that what stands around the query leaves no choice of."""
    named |= _named(query)
    for part in query.terms:
        if isinstance(part, Choice):
            for each in part.any_of:
                _check(each, fields, named)
        elif part.field is not None and (within := fields[part.field].within) and within not in named:
            bound = next((each for each in part.any_of if isinstance(each, Compare)), None)
            if bound is not None:
                raise QueryError(
                    f"{part.field} compares releases of one library: say which",
                    part.position,
                    part.length,
                    (
                        f"{within}:librdkafka {part.field}:<2.6",
                        f"({within}:librdkafka {part.field}:<2.6) OR ({within}:kafka-python {part.field}:<2)",
                    ),
                )


def _named(query: Query) -> frozenset[str]:
    """Fields that every row which the query leaves has been asked for."""
    return frozenset().union(*map(_named_by, query.terms))


def _named_by(part: Term | Choice) -> frozenset[str]:
    if part.negated:
        return frozenset()
    if isinstance(part, Choice):
        return frozenset.intersection(*map(_named, part.any_of))
    return frozenset({part.field}) if part.field is not None else frozenset()


Values = Mapping[str, Any]
"""By field: a text or None, or several texts; a number or None, or a tuple of numbers; a severity's name; of a client's findings pairs of
severity and code, or None where it was not judged."""

_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq,
}  # fmt: skip


def matches(query: Query, fields: Fields, values: Values, search: str = "") -> bool:
    """Whether all terms and choices hold.

    Args:
        search: what words are searched for in, in lower case.
    """
    return all(_holds(part, fields, values, search) != part.negated for part in query.terms)


def _holds(term: Term | Choice, fields: Fields, values: Values, search: str) -> bool:
    if isinstance(term, Choice):
        return any(matches(query, fields, values, search) for query in term.any_of)
    if term.field is None:
        return any(isinstance(each, Pattern) and each.within(search) for each in term.any_of)
    kind, value = fields[term.field].kind, values[term.field]
    if term.library:
        value = library_of(values[SOFTWARE] or "", values[VERSION] or "")[term.field == VERSION]
        if value is None:
            return False
    return any(_is(each, kind, value) for each in term.any_of)


def _is(condition: Condition, kind: FieldKind, value: Any) -> bool:
    if kind is FieldKind.FINDING:
        return _of_findings(condition, value)
    if isinstance(condition, Pattern):
        each: Iterable[str | None] = value if isinstance(value, tuple | list | set | frozenset) else (value,)
        return any(condition.matches(text) for text in (each or (None,)))
    if value is None or isinstance(condition, Is):
        return False
    if isinstance(value, tuple | list):
        return any(_is(condition, kind, each) for each in value)
    if isinstance(condition, Between):
        return bool(condition.first <= value < condition.end)
    return _compares(condition, kind, value)


def _compares(condition: Compare, kind: FieldKind, value: Any) -> bool:
    if kind is FieldKind.SEVERITY:
        value = SEVERITIES.index(value)
    if kind is FieldKind.VERSION:
        value = version_order(value)
    return value is not None and _COMPARED[condition.operator](value, condition.value)


def _of_findings(condition: Condition, found: Iterable[tuple[str, str]] | None) -> bool:
    """A severity is compared with the worst."""
    if isinstance(condition, Is):
        return {NOT_JUDGED: found is None, NONE: found is not None and not list(found)}[condition.name]
    if found is None:
        return False
    if isinstance(condition, Pattern):
        return any(condition.matches(code) for _, code in found)
    worst = max((SEVERITIES.index(severity) for severity, _ in found), default=-1)
    return isinstance(condition, Compare) and worst >= 0 and _COMPARED[condition.operator](worst, condition.value)
