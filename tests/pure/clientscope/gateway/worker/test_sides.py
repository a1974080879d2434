"""gateway/worker/sides: how long a client has been idle is what Linux knows of its socket."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
import uvloop

from clientscope.gateway.worker.sides import ClientSide


class Answering(asyncio.Protocol):
    """Makes a connection's client the side's."""

    def __init__(self, side: ClientSide) -> None:
        self._side = side

    def connection_made(self, transport: Any) -> None:
        self._side.transport = transport
        transport.write(b"answer")


@pytest.mark.parametrize("loops", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_client_is_idle_since_the_last_answer(loops: Any) -> None:
    async def scenario() -> None:
        side = ClientSide(SimpleNamespace())  # type: ignore[arg-type]

        async def at_least(milliseconds: int) -> None:
            async with asyncio.timeout(20):
                while side.idle_ms < milliseconds:  # noqa: ASYNC110  only the socket says it
                    await asyncio.sleep(0.02)

        assert side.idle_ms == 0
        server = await asyncio.get_running_loop().create_server(lambda: Answering(side), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        await reader.read(6)
        await at_least(200)
        writer.write(b"request")  # of which nothing is answered
        await asyncio.sleep(0.02)
        assert (before := side.idle_ms) >= 200
        side.send(b"answer")
        assert side.idle_ms < before
        await at_least(20)
        side.source = ("10.0.0.1", 1)
        assert side.idle_ms == 0, "a load balancer may have closed it"
        side.source = None
        assert side.idle_ms > 0
        assert side.transport is not None
        side.transport.close()
        assert side.idle_ms == 0
        writer.close()
        server.close()

    with asyncio.Runner(loop_factory=loops) as runner:
        runner.run(scenario())
