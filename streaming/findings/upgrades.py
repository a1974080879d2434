"""AN309: applications whose clients request versions that a later release of brokers doesn't serve.

By the records of connections alone, so a client that never pushed counts too. The job reads these from seven hours ago at its start, and
every open connection has a record in that time: a restart finds the same.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from clientscope.catalog.releases import api_name
from clientscope.errors import SettingsError
from clientscope.findings.fingerprints import application_key
from clientscope.model.input import InputRecord
from clientscope.model.requested_versions import unpack
from clientscope.readiness import ApiUse, ObservedUses, Readiness, judge_readiness, removed_in, target_release
from clientscope.readiness.seen import SeenClients, uses
from streaming.findings.fleet import UPGRADE, Found, Judges, Live, of_application, one
from streaming.limits import Limit, Overflow
from udfs.kernels.applications import of_client

KEPT_MS = 7 * 60 * 60_000
"""As long as the job reads back connections at its start."""
MOST_CLIENTS = 20_000
_SEEN_ON = "2.4.0"
"""The release that brokers count as: the oldest that gateways support. Each later one serves more new versions, so a client that passes
over what this one serves passes it over at any."""
_AGAIN_MS = 60_000
FEW_CLIENTS = 500
"""Clients that are judged with any news; 20,000 take a quarter of a second, in which no other finding is made."""
_MOST_LINES = 10
_MOST_NAMED = 5

REQUESTING = Limit(
    "requesting_clients",
    MOST_CLIENTS,
    "clients whose requested versions are known",
    "of those who have more than their share some are forgotten until their next record, and AN309 doesn't count them",
    "low",
)

log = logging.getLogger(__name__)

Versions = frozenset[tuple[int, int]]


class RequestedVersions:
    """What clients requested lately, and which applications stop working at the release of their profile. Times are ms since the epoch."""

    def __init__(self) -> None:
        self.full = Overflow(REQUESTING)
        self._seen = SeenClients(MOST_CLIENTS, KEPT_MS)
        self._changed = True
        self._judged_ms = 0
        self._found: list[Found] = []
        self._targets: dict[str, str | None] = {}

    def happened(self, event: InputRecord) -> None:
        """Takes in an event of a connection, in any order."""
        before = self._seen.dropped["seen_clients"]
        self._changed |= self._seen.apply(event.record, event.appended_ms)
        if dropped := self._seen.dropped["seen_clients"] - before:
            self.full.exceeded("some of those who have the most", dropped)

    def found(self, live: Live, judges: Judges, now_ms: int) -> list[Found]:
        """Findings, made anew once a minute, and with any news of few clients."""
        if (self._changed and len(self._seen) <= FEW_CLIENTS) or abs(now_ms - self._judged_ms) >= _AGAIN_MS:
            self._changed, self._judged_ms = False, now_ms
            self._seen.expire(now_ms)
            self._found = list(self._judge(live, judges, now_ms))
        return self._found

    def _judge(self, live: Live, judges: Judges, now_ms: int) -> Iterator[Found]:
        lines: dict[str, Counter[str]] = defaultdict(Counter)
        unserved: dict[str, set[tuple[int, int]]] = defaultdict(set)
        targets: dict[str, str] = {}
        last_ms: Counter[str] = Counter()
        for key, client in self._seen.clients(now_ms):
            application = application_key(key.principal or None, of_client(key.client_id or None), None)
            limits = judges.limits(UPGRADE, application)
            target = None if limits is None else self._target(limits)
            if target is None:
                continue
            lists = frozenset(versions for versions, (_, seen_ms) in client.lists.items() if seen_ms >= now_ms - KEPT_MS)
            if broken := _broken(lists, key.software_name, key.software_version, target):
                used = uses(client, now_ms, KEPT_MS)
                lines[application][_line(key.software_name, key.software_version, broken, target)] += 1
                unserved[application] |= broken
                targets[application] = target
                last_ms[application] = max(last_ms[application], *(ms for use, ms in used.items() if use in broken))
        for application, of_clients in lines.items():
            message = _message(unserved[application], targets[application])
            differ = {"": (None, _sentences(of_clients))}
            yield one(UPGRADE, application, differ, of_application(live, application), last_ms[application], message=message)

    def _target(self, limits: Mapping[str, float]) -> str | None:
        """The release of a profile; None for one that isn't known, which is logged once."""
        text = f"{int(limits['target_major'])}.{int(limits['target_minor'])}"
        if text not in self._targets:
            try:
                self._targets[text] = target_release(text)
            except SettingsError as error:
                self._targets[text] = None
                log.warning("AN309 judges nothing of a profile whose target is %s: %s", text, error)
        return self._targets[text]


@lru_cache(maxsize=4_096)
def _broken(lists: frozenset[bytes], software_name: str, software_version: str, target: str) -> Versions:
    """Of these lists of versions those that are refused at the target; none for a client that works there, or can't be judged."""
    used = frozenset(ApiUse(*each) for versions in lists for each in unpack(versions))
    observed = ObservedUses(used, software_name, software_version, _SEEN_ON)
    reasons = judge_readiness(observed, target).reasons
    return frozenset(
        (reason.api_key, reason.api_version)
        for reason in reasons
        if reason.readiness is Readiness.BREAKS and reason.api_key is not None and reason.api_version is not None
    )


def _line(software_name: str, software_version: str, broken: Iterable[tuple[int, int]], target: str) -> str:
    software = "unknown software" if software_name in ("", "unknown") else f"{software_name} {software_version}"
    versions = ", ".join(_names(broken))
    releases = {removal.first for key, version in broken if (removal := removed_in(key, version, target)) is not None}
    return f"{software}: {versions}" + (f", removed in {', '.join(sorted(releases))}" if releases else f", not in {target}")


def _names(versions: Iterable[tuple[int, int]]) -> list[str]:
    return [f"{api_name(key) or f'API {key}'} {version}" for key, version in sorted(versions)]


def _message(unserved: Iterable[tuple[int, int]], target: str) -> str:
    """The rule's sentence with the versions and the release."""
    names = _names(unserved)
    more = [f"{len(names) - _MOST_NAMED} more"] * (len(names) > _MOST_NAMED)
    return (
        f"This application requests {', '.join(names[:_MOST_NAMED] + more)}, which brokers of {target} don't serve, and stops working "
        "there: upgrade its client library, and remove settings that pin an old protocol version."
    )


def _sentences(of_clients: Mapping[str, int]) -> list[str]:
    order = sorted(of_clients.items(), key=lambda item: (-item[1], item[0]))
    lines = [f"{line}; {count} client{'s' if count > 1 else ''}" for line, count in order[:_MOST_LINES]]
    return lines if len(order) <= _MOST_LINES else [*lines, f"and {len(order) - _MOST_LINES} more kinds of clients"]
