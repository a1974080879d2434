"""What it costs the gateway to look into requests for settings: with and without it in turn, round by round, in one run.

``make bench-request-settings``, or ``python -m bench.gateway.request_settings --help``. Both gateways have the same address, so each is
started for its half of a round; who is first in one round is second in the next. A ratio is of the two halves of a round, or of all rounds.

Before that, what a new producer's connection costs, of which more requests are looked into than of an old one: a session without sockets.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from kafka.protocol.producer import ProduceRequest
from kafka.record.default_records import DefaultRecordBatchBuilder

from bench.gateway import measures, report, targets
from clientscope import topics
from clientscope.bounded import Shared
from clientscope.errors import ClientscopeError
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.process import free_port
from clientscope.session.connection import ClientConnection
from clientscope.session.events import BROKER, CLIENT, Connected, Received
from clientscope.session.session import Session
from clientscope.session.shown import MOST_HELD
from clientscope.session.state import RequestFields
from clientscope.wire.frames import RESPONSE_HEAD

_COSTS = ("produce CPU s/GB", "consume CPU s/GB")
_REQUESTS, _CONNECTIONS = 200, 201


def _produce(correlation_id: int) -> bytes:
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=0, is_transactional=False, producer_id=-1, producer_epoch=0, base_sequence=0, batch_size=16_384
    )
    for offset in range(90):
        builder.append(offset, 1_700_000_000_000, b"key", bytes(150), [])
    topic, partition = ProduceRequest.TopicProduceData, ProduceRequest.TopicProduceData.PartitionProduceData
    data = [topic(version=7, name="orders", partition_data=[partition(version=7, index=0, records=bytes(builder.build()))])]
    message = ProduceRequest(version=7, transactional_id=None, acks=-1, timeout_ms=30_000, topic_data=data)
    message.with_header(correlation_id=correlation_id, client_id="orders-1")
    return bytes(message.encode(header=True, framed=True))


def _new_connection_us(fields: Shared[RequestFields] | None) -> float:
    """CPU of the first requests of a connection and their answers: the median of many connections."""
    exchanges = [(_produce(number), RESPONSE_HEAD.pack(54, number) + bytes(50)) for number in range(_REQUESTS)]
    costs = []
    for _ in range(_CONNECTIONS):
        made = ClientConnection(Session(False, 0, fields=fields))
        for side in (CLIENT, BROKER):
            list(made.handle(Connected(side)))
        began = time.process_time()
        for request, answer in exchanges:
            if not made.passes_from_client(request):
                list(made.handle(Received(CLIENT, request)))
            if not made.passes_from_broker(answer):
                list(made.handle(Received(BROKER, answer)))
        costs.append((time.process_time() - began) * 1e6)
    return statistics.median(costs)


def _run(scratch: Path, rounds: int, size: measures.Size) -> dict[str, list[tuple[float, float]]]:
    """Measure → (with, without) of each round."""
    plan = BrokerPlan(free_port(), free_port(), f"127.0.0.1:{free_port()}", scratch / "broker")
    found: dict[str, list[tuple[float, float]]] = {cost: [] for cost in _COSTS}
    with EmbeddedBroker(plan, lambda line: print(line, file=sys.stderr, flush=True)):
        topics.create(plan.internal)
        reading = targets.gateway(plan, scratch)
        both = [reading, replace(reading, name="without", command=[*reading.command, "--ignore-request-settings"])]
        for number in range(rounds):
            figures = {}
            for target in both if number % 2 else reversed(both):
                target.start()
                try:
                    measures.throughput(target, f"bench.warm-up.{number}.{target.name}", measures.WARM_UP)
                    figures[target.name] = measures.throughput(target, f"bench.{number}.{target.name}", size)
                finally:
                    target.stop()
            for cost in _COSTS:
                found[cost].append((figures[reading.name][cost], figures["without"][cost]))
            ratios = " ".join(f"{reads / passes:.3f}" for reads, passes in (found[cost][-1] for cost in _COSTS))
            print(f"round {number + 1} of {rounds}: {ratios}", file=sys.stderr)
    return found


def main() -> int:
    """The exit status: 0 whatever the figures are, 1 if they can't be had."""
    parser = argparse.ArgumentParser(prog="python -m bench.gateway.request_settings", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="default: %(default)s")
    parser.add_argument("--quick", action="store_true", help="less in each round")
    options = parser.parse_args()
    about = report.machine({})
    with_it, without = _new_connection_us(Shared(MOST_HELD)), _new_connection_us(None)
    print(f"{_REQUESTS} Produce requests of a new connection and their answers: {with_it:.0f} µs with it, {without:.0f} without")
    try:
        with tempfile.TemporaryDirectory(prefix="clientscope-bench-") as scratch:
            found = _run(Path(scratch), options.rounds, measures.QUICK if options.quick else measures.Size(bytes=1_000_000_000))
    except ClientscopeError as error:
        print(f"error: {error}\nhint: {error.hint}", file=sys.stderr)
        return 1
    print(", ".join(f"{name}: {value}" for name, value in about.items()))
    for cost, pairs in found.items():
        ratios = [on / off for on, off in pairs]
        reads, passes = (sum(each) / len(pairs) for each in zip(*pairs, strict=True))
        print(f"{cost}: {reads:.3f} with it, {passes:.3f} without, ratio {reads / passes:.3f};", end=" ")
        print(f"of {len(ratios)} rounds: median {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
