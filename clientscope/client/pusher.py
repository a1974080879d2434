"""The single push of a client, run beside its own requests: they wait briefly for it, then it continues in the background.

The push first uses the transport of the first connection that may push.  If it takes longer than `HOLD_S` (a slow answer, a quota, a broker
that is gone), it continues in the client's event loop over connections of its own until the handshake's deadline.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from kafka.future import Future
from kafka.net.selector import NetworkSelector

from clientscope.client.failures import is_final, said
from clientscope.client.handshake import Handshake, log

HOLD_S = 1.5
"""The longest that the user's requests wait for a push, seconds: what they need for another connection makes two of it at most."""

_CONNECTION_SETUP_S = 10.0
"""How long a node has to take a connection and its credentials: ``socket.connection.setup.timeout.ms``."""

Connect = Callable[[Any, int, float], Awaitable[Any]]
"""Makes a connection for the push alone, from the connection that lent the first one, the attempt's number from 0, and a deadline."""


class Pusher:
    """One client instance's push, which starts once and ends once.  Everything belongs to the client's event loop but `stop` and `end`.

    Attributes:
        carrier: the connection that the push has now.
    """

    def __init__(self, net: NetworkSelector, handshake: Handshake, connect: Connect) -> None:
        self._net = net
        self._handshake = handshake
        self._connect = connect
        self._started_for: uuid.UUID | None = None
        self._stopped = False
        self._released = Future()
        self._held_until = 0.0
        self._last_error = ""
        self.carrier: Any = None

    @property
    def is_due(self) -> bool:
        """Whether a connection should `start` it.  A forked process is another instance, so it pushes again."""
        return not self._stopped and not self._handshake.done and self._started_for != self._handshake.client_instance_id

    async def start(self, lender: Any, hold_s: float) -> None:
        """Pushes over this connection, and returns when the user's requests need wait no longer: then the push may be under way."""
        self._started_for = self._handshake.client_instance_id
        self.carrier = lender
        self._released = Future()
        hold_s = min(hold_s, HOLD_S)
        self._held_until = time.monotonic() + hold_s
        self._net.call_later(hold_s, self._release)
        self._net.call_soon(self._run)
        await self._released

    def stop(self) -> None:
        """Closes what it has open: the client is being closed."""
        self._stopped = True
        if self.carrier is not None:
            self.carrier.close()

    def end(self) -> None:
        """Says that the client was closed, if the push had begun and not ended."""
        if self._started_for is not None:
            self._handshake.give_up("the client was closed before it was answered")

    def _release(self) -> None:
        if not self._released.is_done:
            self._released.success(None)

    async def _run(self) -> None:
        lender = self.carrier
        try:
            await lender.push(HOLD_S)
            if lender.is_left:
                lender.close()
            self._expire_in_time()
            attempt = 0
            while not self._is_over:
                now = time.monotonic()
                pause = max(self._handshake.pause(attempt), self._handshake.not_before - now)
                if now + pause >= self._held_until:
                    self._release()
                await self._net.sleep(pause)
                if not self._is_over:
                    await self._try_again(lender, attempt)
                attempt += 1
        except Exception as error:
            log.debug("handshake", exc_info=True)
            self._handshake.give_up(type(error).__name__)
        finally:
            self._release()

    async def _try_again(self, lender: Any, attempt: int) -> None:
        try:
            connection = await self._connect(lender, attempt, time.monotonic() + _CONNECTION_SETUP_S)
            if connection.advertised:
                await connection.push(HOLD_S)
            else:
                self._last_error = "a node that doesn't advertise PushConfig"
        except Exception as error:
            self._last_error = said(error)
            if is_final(error):
                self._handshake.give_up(self._last_error)
        finally:
            self.carrier.close()

    @property
    def _is_over(self) -> bool:
        return self._stopped or self._handshake.done

    def _expire_in_time(self) -> None:
        if not self._is_over and self._handshake.deadline is not None:
            self._net.call_at(self._handshake.deadline, self._expire)

    def _expire(self) -> None:
        if not self._is_over:
            self._handshake.expire(self._last_error)
            self.carrier.close()
