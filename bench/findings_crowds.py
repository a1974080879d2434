"""Cost of one more push to findings that many share: an application of 50,000 clients, and a secret of 4,000 applications.

Each second one thing happens, and the engine says what to write. Figures are CPU time of one core: the median of all seconds, and the most,
which is of a second that compares the fleet.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import count

from bench.records import connection, passed, push, setting, taken
from clientscope.digest import DigestKey
from clientscope.findings.conditions import Conditions
from clientscope.findings.fingerprints import application_key
from clientscope.model.enums import Kind
from clientscope.model.input import InputRecord
from clientscope.model.result import PushResult
from clientscope.model.topics import CONFIGS, CONNECTIONS
from clientscope.profiles import Thresholds
from streaming.findings.engine import FindingsEngine
from streaming.findings.entry import Policy

_NOW_MS = 1_800_000_000_000
_SECONDS = 21
_FIRST_ROUND = 40
"""Seconds, in which each finding is looked at once."""

_WRONG = {"acks": "0", "retries": "0", "batch.size": "1", "group.id": "g"}
_LEAK = {**_WRONG, "sasl.password": "hunter2-canary"}


class Crowd:
    """An engine that knows so many clients, and a clock.

    Args:
        apart: whether each client is an application of its own.
    """

    def __init__(self, clients: int, settings: Mapping[str, str], apart: bool) -> None:
        self.engine = FindingsEngine({}, Policy(), Thresholds(), Conditions())
        self.now_ms = _NOW_MS
        self._judged, self._apart = _judged(settings), apart
        (self._event,) = taken(passed(CONNECTIONS, [connection(0)]))
        self._numbers, self._sequence = count(), count()
        for _ in range(clients):
            self.come()
        for _ in range(_FIRST_ROUND):
            self.second()

    def come(self, number: int | None = None) -> None:
        """A client connects and pushes; one of those that are there pushes once more."""
        which = next(self._numbers) if number is None else number
        push = replace(
            self._judged, client=f"00000000-0000-4000-8000-{which:012}/{'0' * 32}", connection=which, client_id=f"orders-{which}",
            address=_address(which), appended_ms=self.now_ms, offset=next(self._sequence),
        )  # fmt: skip
        if self._apart:
            push = replace(push, application=application_key("User:a", f"orders{which}x", None))
        self.engine.apply([self._connection(which, push.client, Kind.PRESENT), push] if number is None else [push])

    def leave(self, number: int) -> None:
        """A client closes its connection."""
        self.engine.apply([self._connection(number, "", Kind.CLOSED)])

    def second(self) -> None:
        """A second passes."""
        self.now_ms += 1_000
        self.engine.written(self.engine.changes(self.now_ms), self.now_ms)

    def _connection(self, number: int, client: str, kind: Kind) -> InputRecord:
        sequence = next(self._sequence)
        event = replace(
            self._event.record, kind=kind, sequence=sequence, connection=number, client_id=f"orders-{number}",
            address=_address(number),
        )  # fmt: skip
        return replace(self._event, offset=sequence, appended_ms=self.now_ms, client=client, record=event)


def _address(number: int) -> str:
    return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"


def one_more(clients: int, applications: int) -> Iterator[tuple[str, float, float]]:
    """What happens, and the median and the most of its seconds, in ms."""
    crowd = Crowd(clients, _WRONG, apart=False)
    yield f"a new client, in an application of {clients:,}", *_timed(crowd, lambda _: crowd.come())
    yield "a client of it pushes again", *_timed(crowd, crowd.come)
    yield "a client of it leaves", *_timed(crowd, crowd.leave)
    yield "nothing", *_timed(crowd, lambda _: None)
    crowd = Crowd(applications, _LEAK, apart=True)
    yield f"another application with a secret of {applications:,}", *_timed(crowd, lambda _: crowd.come())
    yield "one of them pushes it again", *_timed(crowd, crowd.come)
    yield "nothing", *_timed(crowd, lambda _: None)


def _timed(crowd: Crowd, happens: Callable[[int], None]) -> tuple[float, float]:
    spent = []
    for number in range(_SECONDS):
        started = time.process_time()
        happens(number)
        crowd.second()
        spent.append(1_000 * (time.process_time() - started))
    return statistics.median(spent), max(spent)


def _judged(settings: Mapping[str, str]) -> PushResult:
    record = push((setting(key, value) for key, value in settings.items()), received_ms=_NOW_MS)
    (result,) = taken(passed(CONFIGS, [record], at_ms=_NOW_MS, key=DigestKey(b"k" * 32)))
    assert isinstance(result, PushResult)
    return result
