"""Handshake of one client instance: what to push, when to push, and what an answer means.

Pure except for its log: `connection.py` asks it what to send, passes on what was received, and does the waiting.  Times are seconds on
one monotonic clock.
"""

from __future__ import annotations

import logging
import os
import uuid
from enum import Enum

import kafka.errors

from clientscope.backoff import Backoff
from clientscope.client.settings import ConfigEntry
from clientscope.wire.codes import CONFIG_MAX_BYTES, CONFIG_TOO_LARGE, NONE
from clientscope.wire.messages import PushConfigRequest, PushConfigResponse

log = logging.getLogger("clientscope.client")

_LEAST_S = 0.01
"""A pause of 0, which Kafka's settings allow, would have a client ask a broker without end."""
_CONNECTIONS_LOST = 3
"""A connection that is lost during a push may have been lost because of it: after so many the client must get on without."""


class PushOutcome(Enum):
    """The outcome of a push."""

    PUSHED = "pushed"
    REFUSED = "refused"
    """A node answered PushConfig with an error that another attempt can't change."""
    FAILED = "failed"
    """No node could be reached, or took the credentials, or answered in time; or the push is longer than a node would take."""


def backoff(initial_ms: float = 100, max_ms: float = 1000) -> Backoff:
    """The pauses that Kafka's clients make by ``retry.backoff.ms`` and ``retry.backoff.max.ms``: spread by a fifth either way."""
    return Backoff(initial_ms / 1000, max_ms / 1000, spread=(0.8, 1.2), least_s=_LEAST_S)


class Handshake:
    """Pushes once per client instance, whichever connection it is that gets to it.

    ``timeout`` (seconds) counts from the first attempt and spans connections; an id is made where none is given.  Every method
    belongs to the client's network thread, except `client_instance_id`, which any thread may read.

    Attributes:
        outcome: how it ended; None while it hasn't.
        detail: why it ended so, in words; empty where it was pushed.
        deadline: when it ends without a push at the latest; None before the first attempt.
        not_before: `request` returns nothing earlier than this.
    """

    def __init__(self, timeout: float, backoff: Backoff, client_instance_id: uuid.UUID | None = None) -> None:
        self._timeout = timeout
        self._backoff = backoff
        self._entries: tuple[ConfigEntry, ...] = ()
        self._start_instance(client_instance_id)

    def _start_instance(self, client_instance_id: uuid.UUID | None = None) -> None:
        self._pid = os.getpid()
        self._client_instance_id = client_instance_id or uuid.uuid4()
        self.outcome: PushOutcome | None = None
        self.detail = ""
        self._under_way = False
        self.deadline: float | None = None
        self.not_before = 0.0
        self._retries = 0
        self._lost = 0

    @property
    def client_instance_id(self) -> uuid.UUID:
        """What all connections of this client instance say they are.  A forked process is another instance."""
        if os.getpid() != self._pid:
            self._start_instance()
        return self._client_instance_id

    @property
    def done(self) -> bool:
        """Whether it has ended, in whichever way, or has nothing to push."""
        return self.outcome is not None or not self._entries

    def pause(self, retry: int) -> float:
        """How many seconds to wait before another connection is tried; the first is number 0."""
        return self._backoff.seconds(retry)

    def configure(self, entries: tuple[ConfigEntry, ...]) -> None:
        """Sets what is to be pushed; without it, and with nothing, nothing is."""
        self._entries = entries

    def request(self, now: float) -> PushConfigRequest | None:
        """The push, if it is due; the caller must send it and report `answered`, `lost` or `give_up`."""
        if self.done or self._under_way or now < self.not_before:
            return None
        if self.deadline is None:
            self.deadline = now + self._timeout
        elif now >= self.deadline:
            self.expire()
            return None
        request = PushConfigRequest(
            version=0,
            configs=[
                PushConfigRequest.Config(
                    version=0,
                    config_key=entry.key,
                    config_value=entry.value,
                    config_type=int(entry.type),
                    is_default=entry.is_default,
                )
                for entry in self._entries
            ],
        )
        if (size := len(request.encode())) > CONFIG_MAX_BYTES:
            self.give_up(f"it has {size} bytes, and {CONFIG_MAX_BYTES} is the most")
            return None
        self._under_way = True
        return request

    def answered(self, response: PushConfigResponse, now: float) -> float | None:
        """What came back; how many seconds to wait before asking for `request` again, or None if that is all."""
        self._under_way = False
        if self.done:
            return None
        if response.error_code == NONE:
            self.outcome = PushOutcome.PUSHED
            log.info("configuration pushed: %d settings", len(self._entries))
            return None
        error = kafka.errors.for_code(response.error_code)
        name = "CONFIG_TOO_LARGE" if response.error_code == CONFIG_TOO_LARGE else error.__name__
        if not error.retriable:
            self.give_up(f"{name}: {(response.error_message or '')[:500]!r}", PushOutcome.REFUSED)
            return None
        delay: float = max(self._backoff.seconds(self._retries), response.throttle_time_ms / 1000)
        self._retries += 1
        if self.deadline is not None and now + delay >= self.deadline:
            self.give_up(f"{name}, and the next attempt would come after {self._timeout:g} s")
            return None
        self.not_before = now + delay
        log.debug("push of the configuration: %s, again in %.3f s", name, delay)
        return delay

    def lost(self, error: str) -> None:
        """The connection was lost with the push under way; another connection tries again."""
        self._under_way = False
        self._lost += 1
        if self._lost >= _CONNECTIONS_LOST:
            self.give_up(f"{self._lost} connections were lost during it, the last by {error}")

    def expire(self, last_error: str = "") -> None:
        """The deadline is there."""
        self.give_up(f"timed out after {self._timeout:g} s{last_error and '; the last error was '}{last_error}")

    def give_up(self, why: str, outcome: PushOutcome = PushOutcome.FAILED) -> None:
        """Ends it without a push: once, and for the client instance's life.  What has ended already stays as it is."""
        self._under_way = False
        if self.outcome is not None:
            return
        self.outcome, self.detail = outcome, why
        log.warning("configuration not pushed, the client continues without: %s", why)
