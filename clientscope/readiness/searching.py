"""Judged clients that a search leaves."""

from __future__ import annotations

from collections.abc import Iterable

from clientscope.query import READINESS, Query, matches
from clientscope.readiness.rows import JudgedClient

_UNKNOWN = "unknown software"


def searched(clients: Iterable[JudgedClient], query: Query) -> list[JudgedClient]:
    """Those that a query of the fields `clientscope.query.READINESS` leaves."""
    return [each for each in clients if not query.terms or matches(query, READINESS, _values(each), _words(each))]


def _values(client: JudgedClient) -> dict[str, object]:
    name, _, version = client.software.rpartition(" ") if client.software != _UNKNOWN else ("unknown", "", "unknown")
    team, separator, _ = client.owner.partition(" (")
    return {
        "software": name,
        "version": version,
        "application": client.application,
        "owner": (client.owner, team) if separator else client.owner or None,
        "principal": client.principal or None,
        "verdict": client.verdict.readiness.value,
    }


def _words(client: JudgedClient) -> str:
    """What words are searched for in."""
    return "\n".join((client.application, client.principal, client.software, client.owner)).lower()
