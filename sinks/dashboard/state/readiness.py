"""Upgrade readiness: the clients that gateways have seen, judged and grouped."""

from __future__ import annotations

import threading
from dataclasses import fields

from clientscope.api.overview import ReadinessBy, ReadinessGroups, ReadinessItem
from clientscope.bounded import Recent
from clientscope.query import READINESS, parse
from clientscope.readiness import Readiness, known_releases, target_release
from clientscope.readiness.groups import ReadinessGroup, grouped
from clientscope.readiness.judging import UpgradeQuestion, judge_seen
from clientscope.readiness.rows import WORST_FIRST, JudgedClient, logged_ms, searched
from sinks.dashboard.state.state import SeenNow, State
from udfs.kernels.applications import application_of

NEWEST = "4"
"""The target if none is asked for: the newest release of the data."""
_KEPT_MS = 10_000
"""To judge 20,000 clients takes 0.7 s."""
_MOST_KEPT = 8
_FEW = 500
"""Clients that are judged within some milliseconds, so that no answer is older than the request."""


class ReadinessView:
    """Verdicts on all clients, made when somebody asks; of many clients at most once in ten seconds for each target."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._kept: Recent[str, tuple[int, SeenNow, bool, list[JudgedClient]]] = Recent(_MOST_KEPT)

    def groups(self, target: str, by: ReadinessBy, limit: int, offset: int, now_ms: int, q: str = "") -> ReadinessGroups:
        """See `ReadinessGroups`; of the clients that ``q`` leaves.

        Raises:
            QueryError: ``q`` can't be read.
            SettingsError: unknown release.
        """
        release, query = target_release(target), parse(q, READINESS, now_ms)
        with self._lock:  # one at a time: the next one finds it done
            seen, release_known, every = self._judged(release, now_ms)
        clients = searched(every, query)
        found = grouped(clients, by)
        verdicts = {readiness.value: sum(each.verdict.readiness is readiness for each in clients) for readiness in WORST_FIRST}
        return ReadinessGroups(
            version=seen.version,
            feed=seen.feed,
            total=len(found) if seen.known else None,
            offset=offset,
            by=by,
            target=release,
            targets=targets(),
            verdicts={name: count for name, count in verdicts.items() if count},
            last_old_ms=_ms(max((each.last_old for each in clients), default="")),
            first_ms=seen.clients.first_ms if seen.known else None,
            unread=seen.clients.unread(now_ms),
            forgotten=seen.clients.dropped.total(),
            release_known=release_known,
            items=[_item(group, by) for group in found[offset : offset + limit]],
        )

    def _judged(self, target: str, now_ms: int) -> tuple[SeenNow, bool, list[JudgedClient]]:
        """What was seen, whether all brokers' releases are known, and the verdicts."""
        kept = self._kept.get(target)
        if kept is not None and len(kept[3]) > _FEW and 0 <= now_ms - kept[0] < _KEPT_MS:
            return kept[1:]
        seen = self._state.seen_clients()
        found = list(seen.clients.clients(now_ms)) if seen.known else []
        release_known = all(map(seen.releases.get, {key.cluster for key, _ in found}))
        asked = UpgradeQuestion(target, seen.releases, self._state.owners, application_of)
        clients = judge_seen(found, asked, now_ms)
        self._kept[target] = now_ms, seen, release_known, clients
        return seen, release_known, clients


def targets() -> list[str]:
    """Releases that are worth asking about: of each minor one the newest, and 4.0.0, which alone lacks some versions; the newest first."""
    newest = {release.rpartition(".")[0]: release for release in known_releases()}
    chosen = {release for minor, release in newest.items() if int(minor.partition(".")[0]) >= 3} | {"4.0.0"}
    return [release for release in reversed(known_releases()) if release in chosen]


def _item(group: ReadinessGroup, by: ReadinessBy) -> ReadinessItem:
    same = {each.name: getattr(group, each.name) for each in fields(ReadinessItem) if hasattr(group, each.name)}
    return ReadinessItem(
        label=getattr(group, by) or None,
        verdict=Readiness(group.readiness).value,
        last_old_ms=_ms(group.last_old),
        last_seen_ms=_ms(group.last_seen),
        **same,
    )


def _ms(text: str) -> int | None:
    return logged_ms(text) if text else None
