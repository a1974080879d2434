"""The search grammar of page, API and command line: ``software:librdkafka version:<2.6 finding:>=high``.

Terms are separated by spaces, and all must hold.  A term is ``field:value``, ``field:a,b`` for any of them, ``field:<2.6`` with ``<``,
``<=``, ``>`` or ``>=`` where the field has an order, or a word alone, which is searched for.  ``a OR b`` needs one of both, and binds less
than the space: ``(a OR b) c`` needs parentheses.  ``*`` stands for anything, what is in quotes for itself, ``-`` before a term or a
parenthesis for its opposite, and ``field:""`` for those that have none.  Versions compare within a library: ``software:`` is beside them.
``software:`` is the name that a client announces, or the library underneath: a binding of librdkafka is found by both, each with its own
version.

Texts are compared without regard to the case of ASCII letters.  Pure: no I/O, no clock; the time is passed in.
"""

from __future__ import annotations

from clientscope.query.matching import library_of, matches
from clientscope.query.parsing import Key, parse, parse_sort
from clientscope.query.terms import (
    BROKERS,
    CLIENTS,
    CONNECTIONS,
    FINDINGS,
    HISTORY_CLIENTS,
    HISTORY_FINDINGS,
    READINESS,
    RULES,
    Between,
    Choice,
    Compare,
    Field,
    FieldKind,
    Fields,
    Is,
    Pattern,
    Query,
    QueryError,
    Term,
    term_text,
    version_order,
)

__all__ = [
    "BROKERS",
    "CLIENTS",
    "CONNECTIONS",
    "FINDINGS",
    "HISTORY_CLIENTS",
    "HISTORY_FINDINGS",
    "READINESS",
    "RULES",
    "Between",
    "Choice",
    "Compare",
    "Field",
    "FieldKind",
    "Fields",
    "Is",
    "Key",
    "Pattern",
    "Query",
    "QueryError",
    "Term",
    "library_of",
    "matches",
    "parse",
    "parse_sort",
    "term_text",
    "version_order",
]
