"""Interface that a relay needs of its process."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from clientscope.gateway.worker.budget import Holder
from clientscope.gateway.worker.observed import Observed
from clientscope.session.events import News
from clientscope.session.opaque import OpaqueSession
from clientscope.session.session import Session

if TYPE_CHECKING:
    from clientscope.gateway.worker.doors import Upstream
    from clientscope.gateway.worker.relay import Relay


class Host(Protocol):
    """What a relay needs of the gateway that it belongs to."""

    @property
    def upstream(self) -> Upstream:
        """The broker, for a connection that is opened now."""

    def session(self) -> Session | OpaqueSession:
        """A new connection's."""

    def refusal(self, address: str, waiting: int = 0, waiting_from: int = 0) -> str | None:
        """Why one more connection from this address is not taken; None where it is."""

    def observed(self, relay: Relay) -> Observed | None:
        """The request log of a connection that has been opened; None where it has none."""

    def count(self, what: str, reason: str) -> None:
        """Adds one to a counter."""

    def reached(self, failure: str = "") -> None:
        """The broker took a connection, or failed to."""

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine in the background."""

    def opened(self, relay: Relay, address: str) -> int:
        """A client has connected; returns its connection id."""

    def report(self, relay: Relay, news: News) -> None:
        """Takes in what a connection reports; the verdict on a push comes as `VerdictGiven`."""

    def closed(self, relay: Relay, reason: str, requested: bytes | None) -> None:
        """A connection has ended; ``requested`` as `clientscope.gateway.worker.messages.Closed` has it."""

    def holds(self, holder: Holder, held_bytes: int) -> None:
        """Notes how many bytes are held for a connection, by one of its sides or in an incomplete frame."""

    @property
    def stopped(self) -> bool:
        """Whether nothing is read from any connection now."""
