"""Clients of one application, owner, principal or software, with their verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from clientscope.readiness.rows import WORST_FIRST, JudgedClient, ReadinessRow, clients_by_verdict, rows
from clientscope.readiness.verdict import Readiness

By = Literal["application", "owner", "principal", "software"]
GROUPINGS: tuple[By, ...] = ("application", "owner", "principal", "software")

WITHOUT_OWNER = "without owner"
_MOST_NAMES = 3


@dataclass(frozen=True)
class ReadinessGroup:
    """Clients that have something in common. Of an application, principals are distinguished too.

    Attributes:
        readiness: the worst verdict.
        application: of the clients with that verdict, as are owner, principal, software, reason and advice; several are separated by
            commas, and after three only counted.
        clients: how many were seen, of which so many break, …
        last_old: when one of them last used a version that the target doesn't serve, as logged, before ``--since`` too; empty for never.
        last_seen: when one of them last sent a request, as logged.
        rows: every verdict and reason.
    """

    readiness: Readiness
    application: str
    owner: str
    principal: str
    software: str
    clients: int
    breaks: int
    unknown: int
    falls_back: int
    fine: int
    last_old: str
    last_seen: str
    reason: str
    advice: str
    rows: tuple[ReadinessRow, ...]

    @property
    def with_verdict(self) -> int:
        """Clients with the worst verdict."""
        count: int = getattr(self, self.readiness.value)
        return count

    @property
    def clients_shown(self) -> str:
        """For people: how many clients have the worst verdict, of how many."""
        return f"{self.clients:,}" if self.with_verdict == self.clients else f"{self.with_verdict:,} of {self.clients:,}"

    def row(self) -> Mapping[str, object]:
        """As JSON has it."""
        return asdict(self)


FIELDS = tuple(name for name in ReadinessGroup.__dataclass_fields__ if name != "rows")
"""Of a group, as JSON and CSV have them."""


def grouped(clients: Iterable[JudgedClient], by: By) -> list[ReadinessGroup]:
    """The groups, the worst verdict first, and of one verdict those with most such clients first.

    Clients of the past aren't judged: they only say when a group last used an old version. A group that has no others is left out.
    """
    together: dict[tuple[str, ...], list[JudgedClient]] = defaultdict(list)
    for each in clients:
        together[(each.application, each.principal) if by == "application" else (getattr(each, by),)].append(each)
    groups = [_group(same) for same in together.values() if not all(each.past for each in same)]

    def order(group: ReadinessGroup) -> tuple[int, int, str]:
        return WORST_FIRST.index(group.readiness), -group.with_verdict, name_of(group, by)

    return sorted(groups, key=order)


def name_of(group: ReadinessGroup, by: By) -> str:
    """What a group is called."""
    name: str = getattr(group, by)
    return name or WITHOUT_OWNER


def _group(clients: Iterable[JudgedClient]) -> ReadinessGroup:
    every = list(clients)
    found = rows(each for each in every if not each.past)
    counts = clients_by_verdict(found)
    worst = [row for row in found if row.readiness is found[0].readiness]
    reasons = [row.reason for row in worst]
    return ReadinessGroup(
        readiness=found[0].readiness,
        application=_names(row.application for row in worst),
        owner=_names(row.owner for row in worst),
        principal=_names(row.principal for row in worst),
        software=_names(row.software for row in worst),
        clients=sum(counts.values()),
        breaks=counts.get(Readiness.BREAKS, 0),
        unknown=counts.get(Readiness.UNKNOWN, 0),
        falls_back=counts.get(Readiness.FALLS_BACK, 0),
        fine=counts.get(Readiness.FINE, 0),
        last_old=max(each.last_old for each in every),
        last_seen=max(each.last_seen for each in every),
        reason=_sentences(reasons[:1] if found[0].readiness is Readiness.FINE else reasons),
        advice=_sentences([row.advice for row in worst]),
        rows=found,
    )


def _names(found: Iterable[str]) -> str:
    names = list(dict.fromkeys(filter(None, found)))
    more = len(names) - _MOST_NAMES
    return ", ".join([*names[:_MOST_NAMES], *([f"and {more:,} more"] if more > 0 else [])])


def _sentences(found: Iterable[str]) -> str:
    texts = list(dict.fromkeys(filter(None, found)))
    more = len(texts) - _MOST_NAMES
    return " ".join([*texts[:_MOST_NAMES], *([f"{more:,} more."] if more > 0 else [])])
