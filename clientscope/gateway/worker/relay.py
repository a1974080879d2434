"""Relay of one connection's bytes: socket events go into a `ClientConnection`, and its commands are carried out here."""

from __future__ import annotations

import asyncio
from sys import intern

from clientscope.gateway.worker.held import ReceivedBytes
from clientscope.gateway.worker.host import Host
from clientscope.gateway.worker.proxy_protocol import build
from clientscope.gateway.worker.sides import BrokerSide, ClientSide
from clientscope.session.connection import ClientConnection
from clientscope.session.events import BROKER, CLIENT, Certified, Connected, ConnectionEvent, End, Ended, Send, Stop
from clientscope.session.state import Counted, Identified, MetricsPushed, OtherCluster, Pushed, Requested, Shown


class Relay:
    """One client connection, from accept to the last byte; thousands of them are idle at a time, so an attribute's size matters.

    Attributes:
        from_client, from_broker: bytes that were received since they were last taken.
    """

    __slots__ = ("address", "broker", "client", "connection", "connection_id", "from_broker", "from_client", "host", "received")

    def __init__(self, host: Host) -> None:
        self.host = host
        self.connection = ClientConnection(host.session())
        self.client, self.broker = ClientSide(self), BrokerSide(self)
        self.received = ReceivedBytes(self)
        self.connection_id = -1
        self.address = ""
        self.from_client = self.from_broker = 0

    def client_connected(self) -> None:
        """The client is there: count it, and connect upstream."""
        self.address = intern(self.client.address)
        if (reason := self.host.refusal(self.address)) is not None:
            self.host.count("connections_refused", reason)
            self.handle(Ended(reason))
            self.client.close(at_once=True)
            return
        self.connection_id = self.host.opened(self, self.address)
        self.handle(Connected(CLIENT, self.client.half_closes, asyncio.get_running_loop().time()))
        self.connection.observe(self.host.observed(self))
        if (principal := self.client.certified_principal) is not None:
            self.handle(Certified(principal))
        self.host.run(self._connect())

    async def _connect(self) -> None:
        failure = await self.host.upstream.connect(self.broker)
        self.host.reached(failure)
        if failure:
            self.handle(Ended("upstream_unreachable"))

    def broker_connected(self) -> None:
        """The broker is there: a load balancer's header comes before all else."""
        if self.connection.ended:
            self.broker.close(at_once=True)
            return
        if self.host.upstream.takes_proxy_header:
            self.broker.send(build(*self.client.ends))
        self.handle(Connected(BROKER, self.broker.half_closes))
        if self.host.stopped:
            self.handle(Stop())

    def handle(self, event: ConnectionEvent) -> None:
        """Does what an event asks for."""
        for command in self.connection.handle(event):
            match command:
                case Send(side, data):
                    (self.client if side is CLIENT else self.broker).send(data)
                case Identified() | Requested() | Shown() | Counted() | MetricsPushed() | OtherCluster() | Pushed():
                    self.host.report(self, command)
                case End(reason, reset):
                    self._end(reason, reset)
                case _:
                    (self.client if command.side is CLIENT else self.broker).do(command)
        if not self.connection.ended:
            self.received.update()

    def _end(self, reason: str, reset: bool) -> None:
        self.received.release()
        if self.connection_id >= 0:
            self.host.closed(self, reason, self.connection.unreported)
        for side in (self.client, self.broker):
            side.close(reset)
