"""Clients with their verdicts, and rows of clients that are alike; whatever showed what they use."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from clientscope.model.client import Client
from clientscope.query import READINESS, Query, matches
from clientscope.readiness.observed import UNKNOWN_SOFTWARE
from clientscope.readiness.verdict import Readiness, ReadinessVerdict

NAMES = {
    Readiness.BREAKS: "breaks",
    Readiness.UNKNOWN: "can't be judged yet",
    Readiness.FALLS_BACK: "falls back",
    Readiness.FINE: "fine",
}
"""Of verdicts, for people; the worst first."""
WORST_FIRST = tuple(Readiness)


@dataclass(frozen=True)
class ReadinessRow:
    """Clients of one application and software with the same verdict.

    Attributes:
        reason: the first one.
        last_old: when one of them last used a version that the target doesn't serve, as logged; empty for never, or a log without times.
        owner: team and contact; empty for none.
        last_seen: when one of them last sent a request, as logged.
    """

    readiness: Readiness
    application: str
    principal: str
    software: str
    clients: int
    reason: str
    advice: str
    last_old: str = ""
    owner: str = ""
    last_seen: str = ""


@dataclass(frozen=True)
class JudgedClient:
    """A client and its verdict; every name may be shown.

    Attributes:
        past: whether all of its requests are older than the time since which clients are judged.
        last_old: as in `ReadinessRow`, of this client.
        last_seen: the same.
    """

    client: Client
    verdict: ReadinessVerdict
    application: str
    owner: str
    past: bool
    last_old: str
    last_seen: str

    @property
    def principal(self) -> str:
        """Empty for none."""
        return self.client.principal or ""

    @property
    def software(self) -> str:
        """Name and version."""
        return software_of(self.client)


def software_of(client: Client) -> str:
    """Name and version of a client's software."""
    return "unknown software" if client.software_name == UNKNOWN_SOFTWARE else f"{client.software_name} {client.software_version}".rstrip()


def rows(clients: Iterable[JudgedClient]) -> tuple[ReadinessRow, ...]:
    """Clients that are alike, counted; the worst verdict first, and of one verdict most clients first."""
    alike: dict[ReadinessRow, list[JudgedClient]] = defaultdict(list)
    for each in clients:
        verdict = each.verdict
        reason = verdict.reasons[0].text
        row = ReadinessRow(verdict.readiness, each.application, each.principal, each.software, 0, reason, verdict.advice, owner=each.owner)
        alike[row].append(each)
    made = [
        replace(row, clients=len(same), last_old=max(each.last_old for each in same), last_seen=max(each.last_seen for each in same))
        for row, same in alike.items()
    ]
    return tuple(sorted(made, key=lambda row: (WORST_FIRST.index(row.readiness), -row.clients, row.application)))


def clients_by_verdict(found: Iterable[ReadinessRow]) -> dict[Readiness, int]:
    """Verdicts that clients have, the worst first, with how many have it."""
    clients: Counter[Readiness] = Counter()
    for row in found:
        clients[row.readiness] += row.clients
    return {readiness: clients[readiness] for readiness in WORST_FIRST if clients[readiness]}


def logged_ms(text: str) -> int | None:
    """A time as logged, in ms since the epoch as if it were UTC: logged times have no zone. None for no time."""
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)
    except ValueError:
        return None


def searched(clients: Iterable[JudgedClient], query: Query) -> list[JudgedClient]:
    """Those that a query of the fields `clientscope.query.READINESS` leaves."""
    return [each for each in clients if not query.terms or matches(query, READINESS, _values(each), _words(each))]


def _values(client: JudgedClient) -> dict[str, object]:
    team, separator, _ = client.owner.partition(" (")
    return {
        "software": client.client.software_name,
        "version": client.client.software_version,
        "application": client.application,
        "owner": (client.owner, team) if separator else client.owner or None,
        "principal": client.principal or None,
        "verdict": client.verdict.readiness.value,
    }


def _words(client: JudgedClient) -> str:
    """What words are searched for in."""
    return "\n".join((client.application, client.principal, client.software, client.owner)).lower()
