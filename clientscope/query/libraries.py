"""Check that versions are compared within one library: 2.6 of librdkafka says nothing about 2.6 of another."""

from __future__ import annotations

from clientscope.query.error import QueryError
from clientscope.query.fields import Fields
from clientscope.query.terms import Choice, Compare, Query, Term


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
