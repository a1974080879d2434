"""Times between polls (AN406), as consumers say them in their own metrics, against ``max.poll.interval.ms``."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from clientscope.fair_share import HeldEntry, beyond
from clientscope.records.client_key import tenant_of
from streaming.findings import fleet
from streaming.findings.inputs import There
from streaming.limits import Limit, Overflow
from udfs.rules.engine.rule import HIGH, MEDIUM

REMEMBERED_MS = 60 * 60_000
"""The longest time between polls counts for so long."""

POLLS = Limit(
    "poll_intervals",
    20_000,
    "consumers whose time between polls is known",
    "AN406 doesn't judge those of whoever has most",
    "low",
    "ask fewer clients for their metrics (--client-telemetry-client-id, --client-telemetry-principal)",
)

_SETTING = "max.poll.interval.ms"
_MOST_NAMED = 5


class PollInterval(NamedTuple):
    """The longest time between two polls that a consumer said, and when."""

    at_ms: int
    longest_ms: float


class PollIntervals:
    """The longest time between polls of each consumer in the last hour. From any thread.

    Attributes:
        full: counts consumers that were left out.
    """

    def __init__(self, most: int = POLLS.most) -> None:
        self.full = Overflow(POLLS)
        self._most = most
        self._lock = threading.Lock()
        self._of: dict[There, PollInterval] = {}

    def take(self, said: Iterable[tuple[There, PollInterval]], now_ms: int) -> None:
        """Takes in what consumers said."""
        with self._lock:
            for there, new in said:
                known = self._of.get(there)
                if known is None or new.longest_ms >= known.longest_ms or new.at_ms - known.at_ms >= REMEMBERED_MS:
                    self._of[there] = new
            self._of = {there: each for there, each in self._of.items() if now_ms - each.at_ms < REMEMBERED_MS}
            if len(self._of) > self._most:
                held = [
                    HeldEntry(there, tenant_of(there[1], there[3]), int(each.longest_ms), each.at_ms) for there, each in self._of.items()
                ]
                gone = beyond(held, self._most)
                self.full.dropped(gone)
                left_out = {each.key for each in gone}
                self._of = {there: each for there, each in self._of.items() if there not in left_out}

    def recent(self, now_ms: int) -> dict[There, PollInterval]:
        """Of each consumer that said it within the last hour."""
        with self._lock:
            return {there: each for there, each in self._of.items() if now_ms - each.at_ms < REMEMBERED_MS}


def small_headroom(live: fleet.Live, polls: PollIntervals, judges: fleet.Judges, now_ms: int) -> dict[str, fleet.Found]:
    """One finding for each application with such a consumer; where several have its names, the longest of their settings counts."""
    found: dict[str, fleet.Found] = {}
    recent = polls.recent(now_ms)
    if not recent:
        return found
    for application, clients in live.items():
        allowed: defaultdict[There, int] = defaultdict(int)
        for push in clients.pushes:
            if push.there in recent:
                allowed[push.there] = max(allowed[push.there], _milliseconds(push.settings.get(_SETTING)))
        if not allowed or (limits := judges.limits(fleet.HEADROOM, application)) is None:
            continue
        close = {
            there: recent[there]
            for there, most_ms in allowed.items()
            if most_ms and recent[there].longest_ms >= most_ms * (1 - limits["headroom_percent"] / 100)
        }
        if close:
            lines = [_line(there, close[there], allowed[there]) for there in sorted(close, key=str)[:_MOST_NAMED]]
            if len(close) > _MOST_NAMED:
                lines.append(f"and {len(close) - _MOST_NAMED} more consumers")
            exceeded = any(each.longest_ms >= allowed[there] for there, each in close.items())
            differ = {_SETTING: (str(min(allowed[there] for there in close)), lines)}
            at_ms = max(each.at_ms for each in close.values())
            found |= fleet.one(
                fleet.HEADROOM, application, differ, fleet.of_application(live, application), at_ms, HIGH if exceeded else MEDIUM
            )
    return found


def _milliseconds(value: object) -> int:
    """0 where it isn't known, or not exactly."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 12 else 0


def _line(there: There, said: PollInterval, allowed_ms: int) -> str:
    _, _, client_id, address = there
    return (
        f"{client_id or 'no client.id'} at {address}: {said.longest_ms / 1000:.0f} s between two polls, {allowed_ms / 1000:.0f} s allowed"
    )
