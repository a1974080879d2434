"""What follows from comparing clients: with others of the fleet, and with what was seen and reported of them.

Comparisons cost what the fleet is large, so they wait for their time, every ten seconds; what follows from one push or one connection
doesn't.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from clientscope.catalog.configs import TYPES, ClientType, Type
from clientscope.catalog.dialects import dialect_of
from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.request_settings import BETWEEN
from clientscope.findings.fingerprints import application_key, fingerprint
from clientscope.model.input import InputRecord
from clientscope.profiles import Thresholds
from streaming.findings import fleet
from streaming.findings.book import Book
from streaming.findings.clients import Change, PushedClients
from streaming.findings.fact_reports import COMPARED, INTERVAL_MS, REMEMBERED_MS, FactName, FactReports, Worst
from streaming.findings.inputs import JudgedPush, Settings, There
from streaming.findings.upgrades import RequestedVersions
from streaming.limits import Overflow
from udfs.kernels.applications import of_client
from udfs.rules.engine.rule import DECLARED, HIGH, MEDIUM, Rule

MEMBERS, FETCHES, ISOLATION = (DECLARED[code] for code in ("AN216", "AN210", "AN212"))

_COMPARED = (Type.BOOLEAN, Type.INT, Type.SHORT, Type.LONG)

_CHOICES = frozenset({"acks", "compression.type", "group.protocol", "isolation.level", "share.acquire.mode"})


_SEEN_AGAIN_MS = 30_000
"""By then a gateway has recorded what a client's requests show since it started, if that is anything else: it takes some five seconds."""

Pair = tuple[JudgedPush, JudgedPush]
"""What a client says, and what was seen of its requests."""


def contradictions(
    pairs: Iterable[Pair], live: fleet.Live, judges: fleet.Judges, under_way: Iterable[str], now_ms: int
) -> Iterator[fleet.Found]:
    """One finding for each application that has such a client.

    A client that has just started with other settings contradicts nothing yet: what was seen is of its start before.

    Args:
        under_way: fingerprints of those that are already reported; a start doesn't end them.
    """
    reported = set(under_way)
    differ: dict[str, dict[str, tuple[str, list[str]]]] = defaultdict(dict)
    at_ms: dict[str, int] = {}
    for said, seen in pairs:
        if judges.limits(fleet.CONTRADICTION, said.application) is None:
            continue
        older = seen.appended_ms < said.appended_ms and now_ms - said.appended_ms < _SEEN_AGAIN_MS
        if older and fingerprint(fleet.CONTRADICTION.code, said.application, "") not in reported:
            continue
        for key, (value, shown) in differences(said, seen).items():
            line = f"{key}: {fleet.shown(value)} by the client, {fleet.shown(shown)} in its requests"
            differ[said.application].setdefault(key, (value, [line]))
            at_ms[said.application] = max(at_ms.get(said.application, 0), seen.appended_ms, said.appended_ms)
    for application, keys in differ.items():
        in_order = {key: keys[key] for key in sorted(keys)}
        yield fleet.one(fleet.CONTRADICTION, application, in_order, fleet.of_application(live, application), at_ms[application])


def differences(said: JudgedPush, seen: JudgedPush) -> dict[str, tuple[str, str]]:
    """Kafka's name → the value that the client says, and the one that its requests show, as far as they can be compared."""
    if said.client_type is None:
        return {}
    known = {key: value for key, value in said.settings.items() if isinstance(value, str)}
    values = _kafkas(said.software_name, said.software_version, said.client_type, tuple(known.items()))
    found = {}
    for key, shown in seen.settings.items():
        if key in values and isinstance(shown, str) and BETWEEN not in shown and _is_compared(key) and _differ(values[key], shown):
            found[key] = values[key], shown
    return found


@lru_cache(maxsize=4_096)
def _kafkas(software_name: str, version: str, client_type: str, settings: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """Under Kafka's names and in its spelling, with what settings make of each other."""
    dialect, of = dialect_of(software_name) or JAVA, ClientType(client_type)
    values: dict[str, str | None] = {}
    for name, text in settings:
        key = dialect.kafka_name(name, of)
        values[key] = dialect.kafka_value(name, key, text)
    values |= dialect.settle(of, values, list(values), dialect.release_of(version))
    return {key: text for key, text in values.items() if text is not None}


def _is_compared(key: str) -> bool:
    return key in _CHOICES or TYPES.get(key) in _COMPARED


def _differ(said: str, shown: str) -> bool:
    try:
        return int(said) != int(shown)
    except ValueError:
        return said.strip().lower() != shown


_MOST_NAMED = 5


def shared_members(live: fleet.Live, judges: fleet.Judges, now_ms: int) -> Iterator[fleet.Found]:
    """One finding for each application that has such members; a client that several gateways see is one."""
    for application, clients in live.items():
        whose: dict[tuple[str, str], dict[There, int]] = defaultdict(dict)
        for push in clients.pushes:
            if push.member is not None:
                of_member = whose[push.cluster, push.member]
                of_member[push.there] = min(push.appended_ms, of_member.get(push.there, push.appended_ms))
        if not whose or json.loads(application)[2] is None or (limits := judges.limits(MEMBERS, application)) is None:
            continue
        since_ms = now_ms - limits["minutes"] * 60_000  # a restart may overlap with the process that it replaces
        shared = {
            member: sorted((there for there, at_ms in of_member.items() if at_ms <= since_ms), key=str)
            for (_, member), of_member in sorted(whose.items())
        }
        lines = [_line(member, holders) for member, holders in shared.items() if len(holders) > 1]
        if lines:
            first = next(member for member, holders in shared.items() if len(holders) > 1)
            differ = {"group.instance.id": (first, lines[: fleet.MOST_SETTINGS])}
            yield fleet.one(MEMBERS, application, differ, (clients,), clients.newest_ms)


def _line(member: str, holders: list[There]) -> str:
    named = ", ".join(f"{client_id or 'no client.id'} at {address}" for _, _, client_id, address in holders[:_MOST_NAMED])
    more = f" and {len(holders) - _MOST_NAMED} more" if len(holders) > _MOST_NAMED else ""
    return f"group.instance.id {fleet.shown(member)}: {named}{more}"


_ISOLATION, _UNCOMMITTED = "isolation.level", "read_uncommitted"

_Written = Mapping[tuple[str, str], tuple[str, str]]
"""Cluster and `_alike` of a topic → its name, and an application that writes it in transactions."""


def uncommitted_reads(live: fleet.Live, reports: FactReports, judges: fleet.Judges, now_ms: int) -> Iterator[fleet.Found]:
    """One finding for each application that reads such a topic, by what its clients and the topic's producers say in their metrics."""
    written = _written(live, reports.topics("producer", now_ms))
    topics_read = reports.topics("consumer", now_ms) if written else {}
    for application, clients in live.items() if topics_read else ():
        lines: dict[str, str] = {}
        for there in {push.there for push in clients.pushes if push.settings.get(_ISOLATION) == _UNCOMMITTED}:
            for topic in topics_read.get(there, ()):
                if (writer := written.get((there.cluster, _alike(topic)))) is not None:
                    lines[writer[0]] = f"{writer[0]}: {writer[1]} writes it in transactions"
        if lines and judges.limits(ISOLATION, application) is not None:
            named = [lines[topic] for topic in sorted(lines)]
            if len(named) > _MOST_NAMED:
                named[_MOST_NAMED:] = [f"and {len(named) - _MOST_NAMED} more topics"]
            yield fleet.one(ISOLATION, application, {_ISOLATION: (_UNCOMMITTED, named)}, (clients,), clients.newest_ms)


def _written(live: fleet.Live, said: Mapping[There, list[str]]) -> _Written:
    transactional = {
        push.there for clients in live.values() if said for push in clients.pushes if push.transactional and push.there in said
    }
    topics: defaultdict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for there in transactional:
        for topic in said[there]:
            topics[there.cluster, _alike(topic)].add((topic, of_client(there.client_id) or f"a producer at {there.address}"))
    return {place: min(writers) for place, writers in topics.items()}  # the same one each time


def _alike(topic: str) -> str:
    """A consumer before Kafka 4.1 names topics without dots (KIP-1109); Kafka warns of two topics that differ in that alone."""
    return topic.replace(".", "_")


_LEAST_INTERVALS = 2

_MAX_POLL, _LINGER, _FETCH_MIN = "max.poll.interval.ms", "linger.ms", "fetch.min.bytes"


class _Mismatch(NamedTuple):
    """How what one client does doesn't fit its setting.

    Attributes:
        said: what it said, in a sentence's words.
    """

    said: str
    severity: int | None = None


class Joined(NamedTuple):
    """A rule that holds one fact against one setting of the same client.

    Attributes:
        judge: the worst that was said, the setting's greatest number where several clients have the same names, and the rule's limits.
        clients: what they are called.
    """

    rule: Rule
    fact: FactName
    setting: str
    judge: Callable[[Worst, int, Mapping[str, float]], _Mismatch | None]
    clients: str


def _polls(worst: Worst, allowed_ms: int, limits: Mapping[str, float]) -> _Mismatch | None:
    if not allowed_ms or worst.value < allowed_ms * (1 - limits["headroom_percent"] / 100):
        return None
    said = f"{worst.value / 1000:.0f} s between two polls, {allowed_ms / 1000:.0f} s allowed"
    return _Mismatch(said, HIGH if worst.value >= allowed_ms else MEDIUM)


def _waits(worst: Worst, linger_ms: int, limits: Mapping[str, float]) -> _Mismatch | None:
    if worst.value < max(linger_ms * limits["times_linger"], limits["wait_ms"]):
        return None
    return _Mismatch(f"batches wait {worst.value:.0f} ms on average, {linger_ms} ms are asked for")


def _fetches(worst: Worst, min_bytes: int, limits: Mapping[str, float]) -> _Mismatch | None:
    if min_bytes > 1 or worst.value < limits["fetches_per_second"] or worst.beside > limits["fetch_bytes"]:
        return None
    twice = f"{_FETCH_MIN}={2 * math.ceil(worst.beside)}"
    return _Mismatch(f"{worst.value:.0f} fetches a second of {worst.beside:.0f} bytes on average, {twice} makes half as many")


JOINED = (
    Joined(fleet.HEADROOM, "poll_interval_max_ms", _MAX_POLL, _polls, "consumers"),
    Joined(fleet.QUEUE, "queue_time_avg_ms", _LINGER, _waits, "producers"),
    Joined(FETCHES, "fetch_rate", _FETCH_MIN, _fetches, "consumers"),
)


def joined(of: Joined, live: fleet.Live, reports: FactReports, judges: fleet.Judges, now_ms: int) -> Iterator[fleet.Found]:
    """One finding for each application that has such a client; a setting counts where it is known exactly."""
    worst = reports.worst(of.fact, now_ms)
    for application, clients in live.items() if worst else ():
        numbers: defaultdict[There, list[int]] = defaultdict(list)
        for push in clients.pushes:
            if push.there in worst and (number := _number(push.settings, of.setting)) is not None:
                numbers[push.there].append(number)
        if not numbers or (limits := judges.limits(of.rule, application)) is None:
            continue
        mismatches = {there: found for there, each in numbers.items() if (found := of.judge(worst[there], max(each), limits)) is not None}
        if mismatches:
            lines = list(_lines(mismatches, of.clients))
            value = str(min(max(numbers[there]) for there in mismatches))
            severities = [found.severity for found in mismatches.values() if found.severity is not None]
            at_ms = max(worst[there].at_ms for there in mismatches)
            yield fleet.one(of.rule, application, {of.setting: (value, lines)}, (clients,), at_ms, max(severities, default=None))


def risen_retries(
    changes: Mapping[str, Change], live: fleet.Live, reports: FactReports, judges: fleet.Judges, now_ms: int
) -> Iterator[fleet.Found]:
    """AN408: applications whose producers send more again since they started with other settings, for two hours after that."""
    begin_ms = now_ms - 2 * COMPARED * INTERVAL_MS
    lately = {application: change for application, change in changes.items() if change.now.appended_ms > begin_ms}
    for application, counts in reports.retries(lately).items() if lately else ():
        limits, change = judges.limits(fleet.RETRIES, application), lately[application]
        begin = change.now.appended_ms // INTERVAL_MS  # has some of both, so it counts for neither
        before = [counts[each] for each in counts if begin - COMPARED <= each < begin]
        after = [counts[each] for each in counts if begin < each <= begin + COMPARED]
        if limits is None or min(len(before), len(after)) < _LEAST_INTERVALS:
            continue
        usual, now = (sum(each) / len(each) for each in (before, after))
        differ = fleet.differences(change)
        if differ and sum(after) >= limits["retries"] and now >= limits["times"] * usual:
            lines = [f"{_rounded(now)} records are sent again in five minutes, {_rounded(usual)} were before"]
            of_one = fleet.of_application(live, application)
            yield fleet.one(fleet.RETRIES, application, {"": (None, lines), **differ}, of_one, change.now.appended_ms)


def _lines(mismatches: Mapping[There, _Mismatch], clients: str) -> Iterator[str]:
    for there in sorted(mismatches, key=str)[:_MOST_NAMED]:
        _, _, client_id, address = there
        yield f"{client_id or 'no client.id'} at {address}: {mismatches[there].said}"
    if len(mismatches) > _MOST_NAMED:
        yield f"and {len(mismatches) - _MOST_NAMED} more {clients}"


def _number(settings: Settings, key: str) -> int | None:
    """None where it isn't known, or not exactly."""
    value = settings.get(key)
    return int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 12 else None


def _rounded(count: float) -> str:
    """To one digit, so that the sentence stays while numbers change a little."""
    rounded = float(f"{count:.1g}")
    return f"{rounded:.0f}" if rounded >= 1 else f"{rounded:g}"


_EVERY_MS = 10_000


class Comparisons:
    """Compares clients, and enters what it finds in the book."""

    def __init__(self, clients: PushedClients, book: Book, thresholds: Thresholds, reports: FactReports) -> None:
        self._clients, self._book = clients, book
        self._judges = fleet.Judges(thresholds)
        self._requested = RequestedVersions()
        self._reports = reports
        self._first_ms: int | None = None
        self._compared_ms = 0

    @property
    def limits(self) -> tuple[Overflow, ...]:
        """What its bounds left out."""
        return self._requested.full, self._reports.full, self._reports.topics_full

    def happened(self, event: InputRecord) -> None:
        """Takes in an event of a connection, in any order."""
        self._requested.happened(event)

    def at(self, now_ms: int) -> None:
        """Compares, if it is time again."""
        if abs(now_ms - self._compared_ms) < _EVERY_MS:  # a clock may have been set back
            return
        self._compared_ms = now_ms
        self._first_ms = now_ms if self._first_ms is None else self._first_ms
        live = self._clients.live()
        changes = {key: each.change for key, each in self._clients.applications.items() if each.change is not None}
        storms, contradicted = (self._book.present(rule.code) for rule in (fleet.STORM, fleet.CONTRADICTION))
        for rule, found in (
            (fleet.UPGRADE, self._requested.found(live, self._judges, now_ms)),
            (fleet.DRIFT, fleet.drift(live, self._judges, now_ms)),
            (fleet.CHANGED, fleet.changed(changes, live, self._judges, now_ms)),
            (fleet.RARE, fleet.rare_values(live, self._judges)),
            (fleet.VERSION, fleet.old_versions(live, self._judges)),
            (fleet.STORM, fleet.storms(self._closings(now_ms), self._clients.liveness.open_of, live, self._judges, storms, now_ms)),
            (MEMBERS, shared_members(live, self._judges, now_ms)),
            (fleet.CONTRADICTION, contradictions(self._clients.presence.declared(), live, self._judges, contradicted, now_ms)),
        ):
            self._book.compared(rule.code, found)
        # What clients said before the job's start isn't known any more, and counts for an hour.
        known = now_ms - self._first_ms >= REMEMBERED_MS
        for each in JOINED:
            self._book.compared(each.rule.code, joined(each, live, self._reports, self._judges, now_ms), ends=known)
        read = uncommitted_reads(live, self._reports, self._judges, now_ms)
        self._book.compared(ISOLATION.code, read, ends=known)
        risen = risen_retries(changes, live, self._reports, self._judges, now_ms)
        self._book.compared(fleet.RETRIES.code, risen, ends=known)

    def _closings(self, now_ms: int) -> dict[str, fleet.Closings]:
        """What each application closed."""
        found: dict[str, fleet.Closings] = {}
        for (who, where), count in self._clients.liveness.closed(now_ms).items():
            application = application_key(who[0], of_client(who[1]), None)
            closed = found.setdefault(application, fleet.Closings(Counter(), Counter()))
            closed.by[who] += count
            closed.at[where] += count
        return found
