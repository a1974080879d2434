"""Cost of rules, beside the cost of decoding: ``make bench-rules``.

Two loads, in batches of 1,000 pushes. A fleet: all dialects, several releases, producers and consumers, with 25 settings each, of which
clients of one application share most. And pushes of 25 settings of which no two values are alike, as `bench.decode` has them, which is the
worst that rules can meet. Figures are CPU time of one core; decoding takes turns with them, and the best of all rounds counts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from typing import get_args

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from bench.decode import BATCH, record
from bench.records import push, setting
from clientscope.catalog.configs import DEFAULT_KEYS, TYPES, ClientType, Type
from clientscope.catalog.dialects import dialect
from clientscope.client.settings import collect_dialect
from clientscope.digest import DigestKey
from clientscope.model.setting import TypeName
from clientscope.policy.interface import ClientConfig
from clientscope.policy.redaction import redact as redact_one
from udfs.decode import judged_pushes
from udfs.rules.engine.pushed_config import PushedConfig
from udfs.rules.engine.rule import judge
from udfs.rules.registry import RULES

BATCHES = 8
SETTINGS = 25
SOFTWARE = (
    ("java", "4.4.0"), ("java", "3.9.2"), ("java", "2.8.2"), ("librdkafka", "2.8.0"), ("librdkafka", "1.9.2"), ("kafka-python", "3.0.12"),
    ("aiokafka", "0.14.0"), ("kafkajs", "2.2.4"), ("franz-go", "v1.21.5"), ("sarama", "v1.43.0"),
)  # fmt: skip
CHOSEN = ({"acks": "1"}, {"linger.ms": "20", "batch.size": "65536"}, {"compression.type": "zstd"}, {"session.timeout.ms": "6000"}, {})
"""What users set."""
APPLICATIONS = 50
_TYPES = get_args(TypeName)


def fleet() -> Iterator[bytes]:
    """Pushes of clients of some applications, for ever."""
    for number in cycle(range(100_000)):
        name, version = SOFTWARE[number % len(SOFTWARE)]
        client_type = (ClientType.PRODUCER, ClientType.CONSUMER)[number // len(SOFTWARE) % 2]
        application = number % APPLICATIONS
        yield _push(name, version, client_type, application, number)


def _push(name: str, version: str, client_type: ClientType, application: int, instance: int) -> bytes:
    settings = dict(CHOSEN[application % len(CHOSEN)], **{"client.id": f"app-{application}-{instance}", "group.id": f"app-{application}"})
    more = [key for key, config_type in TYPES.items() if config_type not in (Type.CLASS, Type.PASSWORD)]
    entries = collect_dialect(name, client_type, settings, [*DEFAULT_KEYS[client_type], *more], version).entries[:SETTINGS]
    return push(
        (setting(entry.key, entry.value, Type(entry.type), entry.is_default) for entry in entries),
        connection=instance,
        principal=f"User:team-{application}",
        client_id=f"app-{application}-{instance}",
        software_name=dialect(name).software[0],
        software_version=version,
    )


def measure(values: list[bytes], rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Microseconds for each push, of the stages and of each rule."""
    batches = [pa.array(values[start : start + BATCH], pa.binary()) for start in range(0, len(values), BATCH)]
    key = DigestKey(b"k" * 32)
    judged = [each for values in batches for each in judged_pushes(values, key)[0] if each is not None]
    pushes = [PushedConfig(each) for each in judged]
    one_by_one = [
        ClientConfig(each.key, each.value, _TYPES.index(each.type or "string"), each.origin == "default")
        for of_push in judged
        for each in of_push.record.listed()
    ]
    stages: dict[str, Callable[[], object]] = {
        "decoding, and judging what is sensitive": lambda: [judged_pushes(values, key) for values in batches],
        "judging it in the gateway": lambda: _one_by_one(one_by_one, key),
        "effective values": lambda: [PushedConfig(each) for each in judged],
        "all rules": lambda: [list(judge(push, RULES)) for push in pushes],
    }
    rules: dict[str, Callable[[], object]] = {
        f"{rule.code} {rule.name}": lambda rule=rule: [list(judge(push, (rule,))) for push in pushes] for rule in RULES
    }
    best = _best({**stages, **rules}, rounds)
    count = len(values) / 1e6
    return {name: best[name] / count for name in stages}, {name: best[name] / count for name in rules}


def _one_by_one(settings: list[ClientConfig], key: DigestKey) -> None:
    for each in settings:
        redact_one(each, key)


def _best(cases: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for number in range(rounds + 1):
        for name, work in cases.items():
            started = time.process_time()
            work()
            taken = time.process_time() - started
            if number:  # the first warms up
                found[name] = min(taken, found.get(name, taken))
    return found


def _show(title: str, costs: dict[str, float], base: float) -> None:
    view = Table(title=title, title_justify="left")
    for heading in ("", "µs a push", "ms per 1,000", "× decoding"):
        view.add_column(heading, justify="right" if heading else "left")
    for name, cost in costs.items():
        view.add_row(name, f"{cost:.3f}", f"{cost:.3f}", f"{cost / base:.3f}")
    Console(width=130).print(view)


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.rules", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="of each case, after one that warms up (default: %(default)s)")
    parser.add_argument("--stages", action="store_true", help="leave out what each rule costs")
    options = parser.parse_args()
    loads = {
        "A fleet": list(islice(fleet(), BATCH * BATCHES)),
        "No two values alike": [record(number) for number in range(BATCH * BATCHES)],
    }
    for title, values in loads.items():
        stages, rules = measure(values, options.rounds)
        base = stages["decoding, and judging what is sensitive"]
        size = sum(map(len, values)) / len(values)
        _show(f"{title}: {len(values):,} pushes of {size:.0f} bytes in batches of {BATCH:,}", stages, base)
        if not options.stages:
            _show("Each rule by itself", dict(sorted(rules.items(), key=lambda each: -each[1])), base)
    return 0


if __name__ == "__main__":
    sys.exit(main())
