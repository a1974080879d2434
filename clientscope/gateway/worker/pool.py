"""Parent's end of the workers: one listening socket for each, and a replacement for one that ends."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from clientscope.config_types import split_address
from clientscope.errors import EnvironmentProblem
from clientscope.gateway.channel import Channel, Tasks
from clientscope.gateway.template import Template
from clientscope.gateway.worker.messages import BACKLOG, Bypass, Drain, Happens, Measure, Report, Shutdown, WorkerPlan
from clientscope.session.events import Ended, PushAnswered

if TYPE_CHECKING:
    from clientscope.gateway.gateway import Gateway

log = logging.getLogger(__name__)

_IDS = 1 << 32
"""Connection ids of one worker; with the first worker they begin at 0."""
_AGAIN_AFTER_S = 1.0
_END_WITHIN_S = 1.0


def listen(address: str, count: int, shared: bool = False) -> list[socket.socket]:
    """Listening sockets on one port, among which the kernel spreads connections (SO_REUSEPORT).

    They are the main process's own, so that what waits in one outlives its worker.

    Args:
        shared: whether this process listens there already.

    Raises:
        EnvironmentProblem: the port is taken, if only by another gateway.
    """
    host, port = split_address(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sockets = []
    try:
        if not shared:
            with socket.socket(family) as alone:  # another gateway would share its port with us, silently
                alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                alone.bind((host, port))
        for _ in range(count):
            sockets.append(listener := socket.socket(family))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listener.bind((host, port))
            listener.listen(BACKLOG)
    except OSError as error:
        for listener in sockets:
            listener.close()
        raise EnvironmentProblem(
            f"listen: cannot listen on {address}: {error.strerror}", "stop what listens there, or choose another with --listen"
        ) from None
    return sockets


class Workers:
    """All workers of a gateway; belongs to one event loop.

    There are none before `start`.
    """

    def __init__(self, template: Template, owner: Gateway) -> None:
        self._template = template
        self._plan: WorkerPlan
        self._listeners: Sequence[Sequence[socket.socket]] = ()
        self._owner = owner
        self._channels: dict[int, Channel] = {}  # by the worker's number
        self._heard_s: dict[int, float] = {}
        self._numbers = 0
        self._ending = False
        self._bypassed = False
        self._undrained: set[int] = set()
        self._drained = asyncio.Event()
        self._none_left = asyncio.Event()
        self._upstream_failures: dict[int, str] = {}
        self._tasks = Tasks()

    async def start(self, plan: WorkerPlan, of_each: Sequence[Sequence[socket.socket]]) -> None:
        """Starts them.

        Args:
            plan: a worker's, but for its ``first_id``.
            of_each: the listeners of each worker.
        """
        self._plan, self._listeners = plan, of_each
        for listeners in of_each:
            await self._start(listeners)

    def tell(self, connection_id: int, event: PushAnswered | Ended) -> None:
        """Has something happen to a connection, if its worker is still there."""
        if (channel := self._channels.get(connection_id // _IDS)) is not None:
            channel.send(Happens(connection_id, event))

    def bypass(self, on: bool) -> None:
        """Has all of them read nothing of what passes, or read again what connects from now on."""
        self._bypassed = on
        for channel in self._channels.values():
            channel.send(Bypass(on))

    def measure(self) -> None:
        """Has each of them say how many bytes have passed."""
        for channel in self._channels.values():
            channel.send(Measure())

    def replan(self, plan: WorkerPlan) -> None:
        """Has all of them treat by another plan what connects from now on."""
        self._plan = plan
        for number, channel in self._channels.items():
            channel.send(replace(plan, first_id=number * _IDS))

    def silent_s(self) -> float:
        """For how long one of them has said nothing; they report each second. From any thread."""
        heard = list(self._heard_s.values())
        return time.monotonic() - min(heard) if heard else 0.0

    def upstream_failure(self) -> str:
        """How the broker fails to take connections, by the last that one of them tried; empty where it takes them. From any thread."""
        return next(filter(None, list(self._upstream_failures.values())), "")

    async def drain(self) -> None:
        """Has all of them take no further connection, and let each go that they have; returns when none is left."""
        self._ending = True
        self._undrained = set(self._channels)
        self._drained.clear()
        self._close_listeners()
        for channel in self._channels.values():
            channel.send(Drain())
        if self._undrained:
            await self._drained.wait()

    async def end(self) -> None:
        """Ends them; what they say last is heard."""
        self._ending = True
        self._close_listeners()
        for channel in self._channels.values():
            channel.send(Shutdown())
        try:
            if self._channels:
                await asyncio.wait_for(self._none_left.wait(), _END_WITHIN_S)
        except TimeoutError:
            log.warning("a worker does not end; it is killed")

    def _close_listeners(self) -> None:
        for listeners in self._listeners:
            for listener in listeners:
                listener.close()

    async def _start(self, listeners: Sequence[socket.socket]) -> None:
        number = self._numbers
        self._numbers += 1
        ours = self._template.fork_worker(listeners)
        loop = asyncio.get_running_loop()
        _, channel = await loop.create_unix_connection(
            lambda: Channel(lambda message: self._received(number, message), lambda: self._lost(number, listeners)), sock=ours
        )
        self._channels[number] = channel
        self._heard_s[number] = time.monotonic()
        channel.send(replace(self._plan, first_id=number * _IDS))
        if self._bypassed:
            channel.send(Bypass(True))

    def _received(self, number: int, report: Report) -> None:
        self._heard_s[number] = time.monotonic()
        self._upstream_failures[number] = report.upstream_failure
        self._owner.reported(report, _ids_of(number))
        if report.drained:
            self._left(number)

    def _lost(self, number: int, listeners: Sequence[socket.socket]) -> None:
        self._channels.pop(number, None)
        self._heard_s.pop(number, None)
        self._upstream_failures.pop(number, None)
        if not self._channels:
            self._none_left.set()
        self._owner.lost(_ids_of(number))
        self._left(number)
        if not self._ending:
            log.error("a worker has ended; another one takes its place")
            self._tasks.run(self._start_again(listeners))

    def _left(self, number: int) -> None:
        self._undrained.discard(number)
        if not self._undrained:
            self._drained.set()

    async def _start_again(self, listeners: Sequence[socket.socket]) -> None:
        await asyncio.sleep(_AGAIN_AFTER_S)
        try:
            if not self._ending:
                await self._start(listeners)
        except OSError:
            log.error("the process that workers are forked from is gone too; the gateway stops, to be started again")
            signal.raise_signal(signal.SIGTERM)


def _ids_of(number: int) -> range:
    return range(number * _IDS, (number + 1) * _IDS)
