"""One client instance's handshake: what to push, whether to push now, and what an answer means.

Pure but for its log: `connection.py` asks it what to send, tells it what came, and does the waiting.  Times are seconds on
one monotonic clock.
"""

from __future__ import annotations

import logging
import os
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import kafka.errors

from clientscope.client.settings import Entry
from clientscope.wire.codes import CONFIG_MAX_BYTES, CONFIG_TOO_LARGE, NONE
from clientscope.wire.messages import PushConfigRequest, PushConfigResponse

log = logging.getLogger("clientscope.client")

_JITTER = 0.2
_CONNECTIONS_LOST = 3
"""A connection that is lost during a push may have been lost because of it: after so many the client must get on without."""


class Outcome(Enum):
    """What became of a push."""

    PUSHED = "pushed"
    NOTHING_TO_PUSH = "nothing to push"
    NOT_ADVERTISED = "not advertised"
    """Nodes were met, and none of them advertises PushConfig."""
    REFUSED = "refused"
    """A node answered PushConfig with an error that no further attempt would mend."""
    FAILED = "failed"
    """No node could be reached, or took the credentials, or answered in time; or the push is longer than a node would take."""


@dataclass(frozen=True)
class Backoff:
    """Kafka's exponential backoff: doubled each time, spread by a fifth either way, and never above ``max_ms``."""

    initial_ms: float = 100
    max_ms: float = 1000
    uniform: Callable[[float, float], float] = random.uniform

    def seconds(self, retry: int) -> float:
        """How long to wait before a retry; the first is number 0."""
        spread = self.uniform(1 - _JITTER, 1 + _JITTER)
        return min(self.max_ms, self.initial_ms * 2.0**retry * spread) / 1000


class Handshake:
    """Pushes once per client instance, whichever connection it is that gets to it.

    ``timeout`` (seconds) counts from the first attempt and spans connections; an id is made where none is given.  Every method
    belongs to the client's network thread, except `client_instance_id`, which any thread may read.

    Attributes:
        outcome: how it ended; None while it hasn't.
        detail: why it ended so, in words; empty where it was pushed.
        not_before: `request` returns nothing earlier than this.
    """

    def __init__(self, timeout: float, backoff: Backoff, client_instance_id: uuid.UUID | None = None) -> None:
        self._timeout = timeout
        self._backoff = backoff
        self._entries: tuple[Entry, ...] = ()
        self._start_instance(client_instance_id)

    def _start_instance(self, client_instance_id: uuid.UUID | None = None) -> None:
        self._pid = os.getpid()
        self._client_instance_id = client_instance_id or uuid.uuid4()
        self.outcome: Outcome | None = None
        self.detail = ""
        self._done = False
        self._under_way = False
        self._deadline: float | None = None
        self.not_before = 0.0
        self._retries = 0
        self._lost = 0

    @property
    def client_instance_id(self) -> uuid.UUID:
        """What all connections of this client instance say they are.  A forked process is another instance."""
        if os.getpid() != self._pid:
            self._start_instance()
        return self._client_instance_id

    def configure(self, entries: tuple[Entry, ...]) -> None:
        """Sets what is to be pushed; without it, and with nothing, nothing is."""
        self._entries = entries

    def request(self, now: float) -> PushConfigRequest | None:
        """The push, if it is due; the caller must send it and report `answered`, `lost` or `give_up`."""
        if self._done or self._under_way or not self._entries or now < self.not_before:
            return None
        if self._deadline is None:
            self._deadline = now + self._timeout
        elif now >= self._deadline:
            self.give_up(f"timed out after {self._timeout:g} s")
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
        if response.error_code == NONE:
            self._done = True
            self.outcome = Outcome.PUSHED
            log.info("configuration pushed: %d settings", len(self._entries))
            return None
        error = kafka.errors.for_code(response.error_code)
        name = "CONFIG_TOO_LARGE" if response.error_code == CONFIG_TOO_LARGE else error.__name__
        if not error.retriable:
            self.give_up(f"{name}: {(response.error_message or '')[:500]!r}", Outcome.REFUSED)
            return None
        delay: float = max(self._backoff.seconds(self._retries), response.throttle_time_ms / 1000)
        self._retries += 1
        if self._deadline is not None and now + delay >= self._deadline:
            self.give_up(f"{name}, and the next attempt would come after {self._timeout:g} s")
            return None
        self.not_before = now + delay
        log.debug("push of the configuration: %s, again in %.3f s", name, delay)
        return delay

    def lost(self, error: str) -> None:
        """The connection was lost with the push under way; the client's next connection tries again."""
        self._under_way = False
        self._lost += 1
        if self._lost >= _CONNECTIONS_LOST:
            self.give_up(f"{self._lost} connections were lost during it, the last by {error}")

    def give_up(self, why: str, outcome: Outcome = Outcome.FAILED) -> None:
        """Ends it without a push: once, and for the client instance's life."""
        self._done = True
        self.outcome, self.detail = outcome, why
        self._under_way = False
        log.warning("configuration not pushed, the client goes on without: %s", why)
