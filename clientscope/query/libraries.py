"""Names and versions of a client's software: the one that it announces (KIP-511), and the library underneath.

confluent-kafka-python announces ``2.16.1-rdkafka-2.16.0``, and is librdkafka 2.16.0 too.  A version is of the name that stands beside it:
2.6 of librdkafka says nothing about 2.6 of another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from clientscope.query.error import QueryError
from clientscope.query.fields import Fields
from clientscope.query.terms import Choice, Compare, Pattern, Query, Term

SOFTWARE, VERSION = "software", "version"
NO_LIBRARY = (None, None)
_ITS_LIBRARY = ("-", "rdkafka-")
"""What a binding's announced version has between its own version and librdkafka's, with anything in between."""


@lru_cache(maxsize=10_000)
def library_of(software: str, version: str) -> tuple[str | None, str | None]:
    """Name and version of the library underneath, as the catalogue names it; `NO_LIBRARY` if there is none of another name."""
    from clientscope.catalog.dialects import dialect_of  # noqa: PLC0415 - the command line would read the catalogue at its start

    dialect = dialect_of(software.lower())
    if dialect is None or dialect.name == software.lower():
        return NO_LIBRARY
    return dialect.name, ".".join(map(str, dialect.numbers_of(version))) or None


def with_libraries(query: Query, fields: Fields) -> Query:
    """The same query, which finds what is built on a library too: software and the versions beside it are of one of the two names."""
    return _expanded(query) if SOFTWARE in fields and fields[VERSION].within == SOFTWARE else query


def _expanded(query: Query) -> Query:
    of_name = [part for part in query.terms if SOFTWARE in _named(query) and _is_of_name(part)]
    parts = [each for part in query.terms if part not in of_name for each in _alone(part)]
    if of_name:
        both = (Query(tuple(each for part in of_name for each in _of(part, library))) for library in (False, True))
        parts.append(Choice(tuple(both)))
    return Query(tuple(parts))


def _is_of_name(part: Term | Choice) -> bool:
    """Whether a part is about the software that all of its query is about."""
    if isinstance(part, Term):
        return part.field == VERSION or (part.field == SOFTWARE and not part.negated)
    return any(map(_is_of_name, (each for query in part.any_of if not _is_apart(part, query) for each in query.terms)))


def _is_apart(part: Choice, query: Query) -> bool:
    """Whether a query within a negated choice names software itself."""
    return part.negated and SOFTWARE in _named(query)


def _alone(part: Term | Choice) -> Iterator[Term | Choice]:
    """What isn't beside a name: either of both names or versions, or of a negated term neither."""
    if isinstance(part, Choice):
        yield replace(part, any_of=tuple(map(_expanded, part.any_of)))
    elif part.field not in (SOFTWARE, VERSION):
        yield part
    elif part.negated:
        yield from (_term(part, library) for library in (False, True))
    else:
        yield Choice(tuple(Query((_term(part, library),)) for library in (False, True)))


def _of(part: Term | Choice, library: bool) -> Iterator[Term | Choice]:
    if not _is_of_name(part):
        yield from _alone(part)
    elif isinstance(part, Term):
        yield _term(part, library)
    else:
        queries = (
            _expanded(query) if _is_apart(part, query) else Query(tuple(each for inner in query.terms for each in _of(inner, library)))
            for query in part.any_of
        )
        yield replace(part, any_of=tuple(queries))


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
