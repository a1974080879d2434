"""Matching of values in memory with a query."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from clientscope.query.fields import NONE, NOT_JUDGED, FieldKind, Fields
from clientscope.query.libraries import SOFTWARE, VERSION, library_of
from clientscope.query.terms import Between, Choice, Compare, Condition, Is, Pattern, Query, Term
from clientscope.query.versions import version_order
from clientscope.severities import SEVERITIES

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
    if isinstance(value, tuple):
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
