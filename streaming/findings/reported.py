"""Settings against what clients say in their own metrics (AN210, AN406, AN407, AN408)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from streaming.findings import fleet
from streaming.findings.fact_reports import COMPARED, INTERVAL_MS, FactName, FactReports, Worst
from streaming.findings.inputs import Settings, There
from udfs.rules.engine.rule import HIGH, MEDIUM, Rule
from udfs.rules.reading import fetch_min_bytes_one

_MOST_NAMED = 5
_LEAST_INTERVALS = 2

_MAX_POLL, _LINGER, _FETCH_MIN = "max.poll.interval.ms", "linger.ms", "fetch.min.bytes"


class _Verdict(NamedTuple):
    """On one client.

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
    judge: Callable[[Worst, int, Mapping[str, float]], _Verdict | None]
    clients: str


def _polls(worst: Worst, allowed_ms: int, limits: Mapping[str, float]) -> _Verdict | None:
    if not allowed_ms or worst.value < allowed_ms * (1 - limits["headroom_percent"] / 100):
        return None
    said = f"{worst.value / 1000:.0f} s between two polls, {allowed_ms / 1000:.0f} s allowed"
    return _Verdict(said, HIGH if worst.value >= allowed_ms else MEDIUM)


def _waits(worst: Worst, linger_ms: int, limits: Mapping[str, float]) -> _Verdict | None:
    if worst.value < max(linger_ms * limits["times_linger"], limits["wait_ms"]):
        return None
    return _Verdict(f"batches wait {worst.value:.0f} ms on average, {linger_ms} ms are asked for")


def _fetches(worst: Worst, min_bytes: int, limits: Mapping[str, float]) -> _Verdict | None:
    if min_bytes > 1 or worst.value < limits["fetches_per_second"] or worst.beside > limits["fetch_bytes"]:
        return None
    twice = f"{_FETCH_MIN}={2 * math.ceil(worst.beside)}"
    return _Verdict(f"{worst.value:.0f} fetches a second of {worst.beside:.0f} bytes on average, {twice} makes half as many")


JOINED = (
    Joined(fleet.HEADROOM, "poll_interval_max_ms", _MAX_POLL, _polls, "consumers"),
    Joined(fleet.QUEUE, "queue_time_avg_ms", _LINGER, _waits, "producers"),
    Joined(fetch_min_bytes_one, "fetch_rate", _FETCH_MIN, _fetches, "consumers"),
)


def joined(of: Joined, live: fleet.Live, reports: FactReports, judges: fleet.Judges, now_ms: int) -> dict[str, fleet.Found]:
    """One finding for each application that has such a client; a setting counts where it is known exactly."""
    worst = reports.worst(of.fact, now_ms)
    found: dict[str, fleet.Found] = {}
    for application, clients in live.items() if worst else ():
        numbers: defaultdict[There, list[int]] = defaultdict(list)
        for push in clients.pushes:
            if push.there in worst and (number := _number(push.settings, of.setting)) is not None:
                numbers[push.there].append(number)
        if not numbers or (limits := judges.limits(of.rule, application)) is None:
            continue
        verdicts = {there: verdict for there, each in numbers.items() if (verdict := of.judge(worst[there], max(each), limits)) is not None}
        if verdicts:
            lines = list(_lines(verdicts, of.clients))
            value = str(min(max(numbers[there]) for there in verdicts))
            severities = [verdict.severity for verdict in verdicts.values() if verdict.severity is not None]
            at_ms = max(worst[there].at_ms for there in verdicts)
            of_one = fleet.of_application(live, application)
            found |= fleet.one(of.rule, application, {of.setting: (value, lines)}, of_one, at_ms, max(severities, default=None))
    return found


def risen_retries(
    changes: Mapping[str, fleet.Change], live: fleet.Live, reports: FactReports, judges: fleet.Judges, now_ms: int
) -> dict[str, fleet.Found]:
    """AN408: applications whose producers send more again since they started with other settings, for two hours after that."""
    begin_ms = now_ms - 2 * COMPARED * INTERVAL_MS
    lately = {application: change for application, change in changes.items() if change.now.appended_ms > begin_ms}
    found: dict[str, fleet.Found] = {}
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
            found |= fleet.one(
                fleet.RETRIES, application, {"": (None, lines), **differ}, fleet.of_application(live, application), change.now.appended_ms
            )
    return found


def _lines(verdicts: Mapping[There, _Verdict], clients: str) -> Iterator[str]:
    for there in sorted(verdicts, key=str)[:_MOST_NAMED]:
        _, _, client_id, address = there
        yield f"{client_id or 'no client.id'} at {address}: {verdicts[there].said}"
    if len(verdicts) > _MOST_NAMED:
        yield f"and {len(verdicts) - _MOST_NAMED} more {clients}"


def _number(settings: Settings, key: str) -> int | None:
    """None where it isn't known, or not exactly."""
    value = settings.get(key)
    return int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 12 else None


def _rounded(count: float) -> str:
    """To one digit, so that the sentence stays while numbers change a little."""
    rounded = float(f"{count:.1g}")
    return f"{rounded:.0f}" if rounded >= 1 else f"{rounded:g}"
