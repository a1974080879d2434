"""What it costs the gateway to look into requests for settings: with and without it in turn, round by round, in one run.

``make bench-request-settings``, or ``python -m bench.gateway.request_settings --help``. Both gateways have the same address, so each is
started for its half of a round; who is first in one round is second in the next. A ratio is of the two halves of a round, or of all rounds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from bench.gateway import measures, report, targets
from clientscope import topics
from clientscope.errors import ClientscopeError
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.process import free_port

_COSTS = ("produce CPU s/GB", "consume CPU s/GB")


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
