"""Runs all measurements, the targets in turn: ``make bench-gateway``, or ``python -m bench.gateway --help``."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from pathlib import Path

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewTopic

from bench.gateway import measures, report, targets
from clientscope import topics
from clientscope.errors import ClientscopeError
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.process import free_port

_TOPIC = "bench.latency"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.gateway", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="each measurement of each target (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="less in each round")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """The exit status: 0 whatever the figures are, 1 if they can't be had."""
    options = _options()
    size = measures.QUICK if options.quick else measures.Size()
    about = report.machine(
        {"kafka": "4.4.0, -Xmx512m", "librdkafka": confluent_kafka.libversion()[0], "peer": f"0.12.0, {targets.PEER_HEAP}"}
    )
    try:
        with tempfile.TemporaryDirectory(prefix="clientscope-bench-") as scratch:
            rounds, names, missing = _run(Path(scratch), options.rounds, size)
    except ClientscopeError as error:
        print(f"error: {error}\nhint: {error.hint}", file=sys.stderr)
        return 1
    found = report.summary(rounds)
    report.show(found, about, names, missing)
    if options.json:
        options.json.write_text(
            json.dumps({"machine": about, "rounds": options.rounds, "quick": options.quick, "figures": found}, indent=1)
        )
    return 0


def _run(scratch: Path, count: int, size: measures.Size) -> tuple[report.Rounds, list[str], str]:
    plan = BrokerPlan(free_port(), free_port(), f"127.0.0.1:{free_port()}", scratch / "broker")
    rounds: report.Rounds = {}
    missing = ""

    def keep(target: str, figures: measures.Figures) -> None:
        for measure, value in figures.items():
            rounds.setdefault(measure, {}).setdefault(target, []).append(value)

    with EmbeddedBroker(plan, _say), contextlib.ExitStack() as running:
        topics.create(plan.internal)
        admin = AdminClient({"bootstrap.servers": plan.internal})
        admin.create_topics([NewTopic(_TOPIC, 1, 1, config={"retention.bytes": "100000000"})])[_TOPIC].result(30)
        measured = [targets.direct(plan), targets.gateway(plan, scratch), targets.cluster_gateway(plan, scratch)]
        try:
            measured.append(targets.peer(plan, scratch))
        except ClientscopeError as error:
            missing = f"{error} ({error.hint})"
        # Memory first, each time of a process that has just started; not more than three times, since it is steady.
        for number in range(min(count, 3)):
            for target in measured[1:]:
                _say(f"idle connections, round {number + 1}: {target.name}")
                target.start()
                try:
                    keep(target.name, measures.idle(target, size))
                finally:
                    target.stop()
        for target in measured:
            target.start()
            running.callback(target.stop)
            _say(f"warm-up: {target.name}")
            measures.throughput(target, f"bench.warm-up.{target.name}", measures.WARM_UP)
            measures.connections(target, measures.WARM_UP)
        for number in range(count):
            # Whoever is first in one round is last in the next.
            turn = measured[number % len(measured) :] + measured[: number % len(measured)]
            for target in turn:
                _say(f"round {number + 1} of {count}: {target.name}")
                keep(target.name, measures.throughput(target, f"bench.{number}.{target.name}", size))
                keep(target.name, measures.connections(target, size))
            _say(f"round {number + 1} of {count}: latency")
            for name, figures in measures.latency(measured, _TOPIC, size).items():
                keep(name, figures)
    return rounds, [target.name for target in measured], missing


if __name__ == "__main__":
    sys.exit(main())
