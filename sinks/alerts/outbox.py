"""The alerts that one receiver has yet to get. No I/O, no clock.

The job decides when an alert is due (`Finding.alert`, `Finding.is_firing`).  What is decided here is only whether this receiver has had it:
by the records of ``clientscope.findings`` up to where the receiver's consumer group has committed, and those that were sent since.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from clientscope.backoff import Backoff
from clientscope.model.finding import Finding
from sinks.alerts.message import Message, Status, alert_number
from sinks.alerts.receivers import MessageReceiver
from sinks.alerts.sending import SendResult

GIVE_UP_S = 2 * 60 * 60.0
"""How long a message is tried."""

RETRIES = Backoff(2.0, 600.0, spread=(0.5, 1.0))


class Place(NamedTuple):
    """Where a record is in ``clientscope.findings``."""

    partition: int
    offset: int


class Waiting(NamedTuple):
    """An alert that isn't delivered yet.

    Attributes:
        place: of the first record that must be read again after a restart.
        since: when it began to wait.
    """

    place: Place
    since: float


@dataclass
class _Change:
    """A change that isn't in a message yet; `place` is that of the first record since the receiver was told."""

    finding: Finding
    status: Status
    place: Place
    since: float


@dataclass
class _Outgoing:
    """A message on its way, with its attempts so far."""

    message: Message
    group: tuple[Status, str]
    places: list[Place]
    since: float
    begun: float
    due: float
    attempts: int = 0


@dataclass(frozen=True)
class Round:
    """What came of sending.

    Attributes:
        result: of the attempt; of several, why one of them failed.
        given_up: number of alerts that are not tried any more.
    """

    result: SendResult
    given_up: int


class Outbox:
    """Times are seconds of any clock that never goes back, if they aren't ms."""

    def __init__(self, receiver: MessageReceiver, deliver: Callable[[Message], SendResult]) -> None:
        """
        Args:
            deliver: one attempt.
        """
        self._receiver = receiver
        self._deliver = deliver
        self._told: dict[str, tuple[int, bool]] = {}
        """By fingerprint: the number of the last alert, and whether it fires, as the receiver knows it."""
        self._changes: dict[str, _Change] = {}
        self._outgoing: list[_Outgoing] = []
        self._not_before = 0.0

    def take(self, fingerprint: str, finding: Finding | None, place: Place, committed: int | None, at_ms: int, now: float) -> None:
        """A record of ``clientscope.findings``, None for a tombstone.

        Args:
            committed: up to where in its partition the receiver has been told everything; None at its first start.
        """
        before = self._told.get(fingerprint)
        earlier = self._changes.pop(fingerprint, None)
        if finding is None:
            self._told.pop(fingerprint, None)
            return
        number, firing, wanted = alert_number(finding), finding.is_firing, self._receiver.wants(finding)
        if committed is not None and place.offset < committed:
            if wanted or not firing:
                self._told[fingerprint] = number, firing
            return
        status: Status | None = None
        if firing:
            status = "firing" if wanted and (before is None or before[0] != number) else None
        elif self._receiver.resolved:
            # Without an earlier record, compaction has taken it away while nothing was delivered: the receiver may think that it fires.
            is_unknown = before is None and earlier is None and committed is not None and wanted and number > 0
            status = "ended" if is_unknown or (before is not None and before[1]) else None
        if status is not None:
            kept = earlier if earlier is not None and earlier.status == status else None
            first = earlier.place if earlier is not None else place
            self._changes[fingerprint] = _Change(finding, status, first, kept.since if kept else now)

    def send(self, at_ms: int, now: float) -> Round | None:
        """Sends one message, if one is due."""
        self._gather(at_ms, now)
        due = [outgoing for outgoing in self._outgoing if outgoing.due <= now] if now >= self._not_before else []
        if not due:
            return None
        outgoing = min(due, key=lambda each: each.due)
        try:
            result = self._deliver(outgoing.message)
        except Exception as error:  # one message must not end all others; the error's text may quote a secret
            result = SendResult(f"an error of clientscope's own: {type(error).__name__}")
        outgoing.attempts += 1
        if result.ok or result.is_final or now - outgoing.begun >= GIVE_UP_S:
            self._outgoing.remove(outgoing)
            return Round(result, 0 if result.ok else len(outgoing.message.findings))
        outgoing.due = now + RETRIES.seconds(outgoing.attempts - 1)
        self._not_before = now + result.retry_after_s
        return Round(result, 0)

    def _gather(self, created_ms: int, now: float) -> None:
        """Makes messages of what has waited for others long enough: one for each owner, and no second one before the first is settled."""
        sending = {finding.fingerprint for outgoing in self._outgoing for finding in outgoing.message.findings}
        busy = {outgoing.group for outgoing in self._outgoing}
        groups: defaultdict[tuple[Status, str], list[_Change]] = defaultdict(list)
        for fingerprint, change in self._changes.items():
            if fingerprint not in sending:
                groups[change.status, change.finding.owner.team if change.finding.owner else ""].append(change)
        for group, changes in groups.items():
            since = min(change.since for change in changes)
            if group in busy or now < since + self._receiver.group_wait_s:
                continue
            findings = [change.finding for change in changes]
            message = Message.of(self._receiver.name, group[0], findings, created_ms)
            self._outgoing.append(_Outgoing(message, group, [change.place for change in changes], since, now, now))
            for finding in findings:
                self._told[finding.fingerprint] = alert_number(finding), group[0] == "firing"
                del self._changes[finding.fingerprint]

    def waiting(self) -> list[Waiting]:
        """The alerts that are not delivered yet."""
        # Copies, since other threads ask.
        changes = [Waiting(change.place, change.since) for change in list(self._changes.values())]
        return changes + [Waiting(place, outgoing.since) for outgoing in list(self._outgoing) for place in outgoing.places]
