"""When a connection reports who its client is and which versions it requests, and when its requests are looked into.

No I/O; times are seconds of one clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from clientscope.records.requested_versions import pack
from clientscope.session.requested import NOTHING
from clientscope.session.state import Counted, Identified, Identity, Requested

_IDENTITIES_AT_ONCE = 8
_IDENTITY_EVERY_S = 10.0
"""Reports of a client's identity that are sent at once, and the interval of later ones: its first request, ApiVersions, SASL and telemetry
make four.
"""
_REQUESTED_EVERY_S = 5.0
"""How long new versions that a client requests are gathered: it starts with a dozen."""
_PERIOD_S = 5.5 * 3600
"""After that the versions count anew, so that readers know when a client last used each: within the six hours after which a connection is
recorded again in any case."""
_PERIOD_BEGINS_S = 60.0
"""How long a new period gathers versions before its first report."""
_LOOK_EVERY_S = 60.0
"""The interval at which one more request of each kind is looked into for settings."""


class Reported(Protocol):
    """What reports are about: a session."""

    requested: frozenset[int]

    @property
    def identity(self) -> Identity:
        """The client's identity, as far as it is known."""

    @property
    def authenticated(self) -> bool:
        """Whether it is known whose the requests are."""

    def forget_requested(self) -> None:
        """Begins anew with the versions that the client requests."""

    def look_again(self) -> None:
        """Looks into further requests."""


class ClientReports:
    """One connection's reports."""

    __slots__ = ("_identified", "_identified_s", "_identity_held", "_looked_s", "_period_s", "_requested", "_requested_s")

    def __init__(self) -> None:
        self._identified = 0
        self._identified_s = 0.0
        self._identity_held = False
        self._requested: frozenset[int] | None = NOTHING  # as last reported; None where the next report is due whatever it says
        self._requested_s = self._period_s = self._looked_s = 0.0

    def begin(self, now_s: float) -> None:
        """The client has connected."""
        self._requested_s = self._period_s = self._looked_s = now_s

    def identify(self, session: Reported) -> Identified | Counted:
        """Reports the client's identity; a client that changes its name all the time is reported at intervals."""
        self._identified += 1
        if self._identified > _IDENTITIES_AT_ONCE:
            self._identity_held = True
            return Counted("identity_changes_held", "rate")
        return Identified(session.identity)

    def tick(self, session: Reported, now_s: float) -> Iterator[Identified | Requested]:
        """What is due now. Comes often."""
        if self._identity_held and now_s - self._identified_s > _IDENTITY_EVERY_S:
            self._identity_held, self._identified_s = False, now_s
            yield Identified(session.identity)
        if now_s - self._looked_s >= _LOOK_EVERY_S:
            self._looked_s = now_s
            session.look_again()
        if session.requested is not self._requested or now_s - self._period_s > _PERIOD_S:
            yield from self._report_requested(session, now_s)

    def unreported(self, session: Reported) -> bytes | None:
        """The versions that the client has requested, as `Requested` has them; None if the last report still holds."""
        return None if session.requested == self._requested else pack(session.requested)

    def _report_requested(self, session: Reported, now_s: float) -> Iterator[Requested]:
        if session.authenticated and now_s - self._requested_s >= _REQUESTED_EVERY_S:  # before it, the client is another one
            if (versions := self.unreported(session)) is not None:
                self._requested_s = now_s
                yield Requested(versions)
            self._requested = session.requested
        if now_s - self._period_s > _PERIOD_S:
            session.forget_requested()
            self._requested, self._period_s = None, now_s
            self._requested_s = now_s + _PERIOD_BEGINS_S - _REQUESTED_EVERY_S
