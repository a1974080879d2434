"""Cost of a push for a user's first request: round trips, time, and requests on the wire.

``python -m bench.client [--rounds 20] [--delay-ms 20]``: a real broker, with a real gateway and without, behind a TCP proxy that delivers
each byte a fixed time after it came, either way.  Timed is from the client's creation until its first request is answered: a record that
is acknowledged, a partition's end, the list of topics.  Each case is timed with the delay and without: what the delay adds, divided by the
round trip that it makes, is how many round trips the client waits for.  The cases take turns, so what else the machine does meets all
alike.  Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import kafka
from rich.console import Console
from rich.table import Table

from bench.installation import PUSHING, Installation
from clientscope.client import KafkaAdminClient, KafkaConsumer, KafkaProducer
from clientscope.local.process import free_port
from clientscope.wire.codes import PUSH_CONFIG

TOPIC = "bench.client"


class Wire:
    """The proxy: where it leads to, and the api keys of the requests that went over it."""

    def __init__(self, port: int) -> None:
        self.upstream = ""
        self.delay_s = 0.0
        self.api_keys: list[int] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._connected, "127.0.0.1", port))
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream_reader, upstream_writer = await asyncio.open_connection(*self.upstream.split(":"))
        back = asyncio.create_task(self._pump(upstream_reader, writer, counting=False))
        self._tasks.add(back)
        back.add_done_callback(self._tasks.discard)
        await self._pump(reader, upstream_writer, counting=True)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counting: bool) -> None:
        requests = bytearray()
        try:
            while data := await reader.read(65536):
                if counting:
                    requests += data
                    self._count(requests)
                self._loop.call_later(self.delay_s, writer.write, data)
        except ConnectionError:
            pass
        self._loop.call_later(self.delay_s, writer.close)

    def _count(self, requests: bytearray) -> None:
        while len(requests) >= 6:
            size, api_key = struct.unpack_from(">ih", requests)
            if len(requests) < 4 + size:
                return
            self.api_keys.append(api_key)
            del requests[: 4 + size]


@dataclass
class Case:
    """One way for a client to begin."""

    name: str
    upstream: str
    settings: dict[str, Any]
    delayed_ms: list[float] = field(default_factory=list)
    direct_ms: list[float] = field(default_factory=list)
    requests: list[int] = field(default_factory=list)
    pushes: list[int] = field(default_factory=list)

    def round_trips(self, round_trip_ms: float) -> float:
        """How many of them it waits for."""
        return (median(self.delayed_ms) - median(self.direct_ms)) / round_trip_ms


def send(producer: kafka.KafkaProducer) -> None:
    """The first record is acknowledged."""
    producer.send(TOPIC, b"a").get(timeout=30)


def ask_for_the_end(consumer: kafka.KafkaConsumer) -> None:
    """A partition's end is known."""
    consumer.end_offsets([kafka.TopicPartition(TOPIC, 0)])


def list_topics(admin: kafka.KafkaAdminClient) -> None:
    """The topics are known."""
    admin.list_topics()


FIRST_REQUESTS: dict[Any, Callable[[Any], None]] = {
    KafkaProducer: send,
    KafkaConsumer: ask_for_the_end,
    KafkaAdminClient: list_topics,
}


def measure(wire: Wire, address: str, client_class: Any, case: Case) -> float:
    """One client's beginning, in ms."""
    wire.upstream = case.upstream
    wire.api_keys.clear()
    started = time.perf_counter()
    with closing(client_class(bootstrap_servers=address, **case.settings)) as client:
        FIRST_REQUESTS[client_class](client)
        took_ms = (time.perf_counter() - started) * 1000
        sent = list(wire.api_keys)
    case.requests.append(len(sent))
    case.pushes.append(sent.count(PUSH_CONFIG))
    return took_ms


def rounds(wire: Wire, address: str, client_class: Any, cases: list[Case], count: int, delay_s: float) -> None:
    """All cases in turns."""
    for case in cases:
        measure(wire, address, client_class, case)  # imports, and caches of the broker's
        case.requests.clear()
        case.pushes.clear()
    for _ in range(count):
        for case in cases:
            wire.delay_s = 0.0
            case.direct_ms.append(measure(wire, address, client_class, case))
            wire.delay_s = delay_s
            case.delayed_ms.append(measure(wire, address, client_class, case))


def counted(numbers: list[int]) -> str:
    """A number that should be the same each time."""
    return f"{min(numbers)}" if min(numbers) == max(numbers) else f"{median(numbers):g} ({min(numbers)}–{max(numbers)})"


def timed(times_ms: list[float]) -> str:
    """Median and range."""
    return f"{median(times_ms):.0f} ({min(times_ms):.0f}–{max(times_ms):.0f})"


def main() -> int:
    """Prints a table of all types of client and all cases."""
    parser = argparse.ArgumentParser(prog="python -m bench.client", description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=20, help="clients of each type and case, with the delay and without [default 20]")
    parser.add_argument("--delay-ms", type=float, default=20.0, help="what the proxy adds each way [default 20]")
    given = parser.parse_args()
    port, round_trip_ms = free_port(), 2 * given.delay_ms
    wire = Wire(port)
    console = Console(width=140) if not sys.stdout.isatty() else Console()
    title = f"until the first answer; {given.rounds} clients each; ms are median (range); a round trip is {round_trip_ms:g} ms"
    table = Table("client", "case", "ms", "without the delay", "round trips", "more", "requests", "pushes", title=title)
    with (
        tempfile.TemporaryDirectory() as folder,
        Installation(Path(folder), *PUSHING, topic=TOPIC, advertised=f"127.0.0.1:{port}") as installation,
    ):
        for client_class in FIRST_REQUESTS:
            cases = [
                Case("gateway, enable_config_push=False", installation.address, {"enable_config_push": False}),
                Case("gateway, push", installation.address, {}),
                Case("a broker that doesn't advertise it", installation.broker, {}),
            ]
            rounds(wire, f"127.0.0.1:{port}", client_class, cases, given.rounds, given.delay_ms / 1000)
            base = cases[0].round_trips(round_trip_ms)
            for case in cases:
                trips = case.round_trips(round_trip_ms)
                table.add_row(
                    client_class.__name__, case.name, timed(case.delayed_ms), timed(case.direct_ms), f"{trips:.2f}",
                    f"{trips - base:+.2f}", counted(case.requests), counted(case.pushes),
                )  # fmt: skip
            table.add_section()
    console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
