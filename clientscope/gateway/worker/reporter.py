"""Reports of a worker to the main process: events and counts, gathered for a few milliseconds.

It never waits: reports that the main process doesn't take are dropped, and made good by a list of all that is open.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from clientscope.clock import now_ms
from clientscope.gateway.channel import Channel
from clientscope.gateway.worker.messages import Event, Opened, Report, Said, Standing, StandingConnection
from clientscope.session.state import Identified, Identity, MetricsPushed

_GATHER_S = 0.02


class Reporter:
    """One worker's reports; in its event loop.

    Args:
        drained: whether no further connection is taken, and none is left.

    Attributes:
        behind: whether reports are dropped, since the main process takes none now.
        lag_s: how much later than asked for the event loop woke up, for the next report; None where it did not sleep.
    """

    def __init__(self, channel: Channel, drained: Callable[[], bool]) -> None:
        self._channel = channel
        self._drained = drained
        self._upstream_failure = ""
        self._events: list[Event] = []
        self._just_opened: dict[int, int] = {}  # connection ids, and where among the events each was opened
        self._counts: Counter[tuple[str, str]] = Counter()
        self._gathering: asyncio.TimerHandle | None = None
        self.behind = False
        self.lag_s: float | None = None

    def count(self, what: str, reason: str) -> None:
        """Adds one to a counter."""
        self._counts[what, reason] += 1
        self._gather()

    def reached(self, failure: str = "") -> None:
        """The broker took a connection, or failed to."""
        if failure:
            self.count("upstream_failures", failure)
        if failure != self._upstream_failure:
            self._upstream_failure = failure
            self._gather()

    def opened(self, connection_id: int, address: str) -> None:
        """A client has connected."""
        if not self.behind:
            self._just_opened[connection_id] = len(self._events)
        self.report(Opened(connection_id, address))

    def identified(self, connection_id: int, identity: Identity) -> None:
        """A client has identified itself.

        Most do so within a millisecond of connecting, and then that is one event, and one record, instead of two.
        """
        if (index := self._just_opened.get(connection_id)) is None:
            self.report(Said(connection_id, Identified(identity)))
        elif isinstance(opened := self._events[index], Opened):
            self._events[index] = replace(opened, identity=identity)

    def report(self, event: Event) -> None:
        """Something has happened."""
        if not self.behind:
            self._events.append(event)
            self._gather()

    def room(self, connections: Callable[[], list[StandingConnection]]) -> None:
        """The main process has read on: it gets what is now, for what it missed."""
        if self.behind:
            self.behind = False
            self._events = [Standing(connections())]
            self.flush()

    def flush(self) -> bool:
        """Sends what has gathered; False where the main process takes nothing now."""
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        events, self._events = self._events, []
        self._just_opened.clear()
        report = Report(now_ms(), events, dict(self._counts), self._upstream_failure, self._drained(), self.lag_s)
        if self.behind or not self._channel.send(report):
            self.behind = True
            # No later list makes these good.
            if lost := sum(isinstance(event, Said) and isinstance(event.news, MetricsPushed) for event in events):
                self._counts["telemetry_dropped", "busy"] += lost
            return False
        self._counts.clear()
        self.lag_s = None
        return True

    def _gather(self) -> None:
        if self._gathering is None:
            self._gathering = asyncio.get_running_loop().call_later(_GATHER_S, self.flush)
