"""F37 and F28: a million names and versions, each used once, from the gateway to the page; a few in CI."""

from __future__ import annotations

import json
import random
import sys
from collections import deque

from gauge_rows import Topic, rows
from prometheus_client import generate_latest

from clientscope.gateway.metrics import GatewayMetrics
from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.model.codec import encode
from clientscope.model.series import MOST_SERIES, OTHER
from clientscope.model.topics import GAUGES
from clientscope.session.state import Identity
from sinks.dashboard.state.known import TopicRecord
from sinks.dashboard.state.state import State
from streaming.gauges import Gauges

PAIRS = 18_000
BEAT = 6_000
OPEN = 11_000
"""Connections at once: more pairs than a gateway tells apart."""

START_MS = 1_700_000_000_000


class Way:
    """What a gateway counts, the job publishes and the page shows."""

    def __init__(self) -> None:
        self.registry = ConnectionRegistry(GatewayPlace("cluster", 1, "g", 1, "CLIENT"))
        self.metrics = GatewayMetrics()
        self.metrics.show_connections(self.registry.counts, {"cluster": "cluster", "broker": "1", "listener": "CLIENT"})
        self.gauges, self.topic, self.page = Gauges({}, now=0), Topic(), State()
        self.page.live()
        self.largest_record = 0

    def beat(self, at_s: int) -> None:
        records = [encode(record) for record in self.registry.heartbeat(START_MS + at_s * 1000, 5_000)]
        self.largest_record = max(self.largest_record, *map(len, records))
        changes = self.gauges.apply(rows((value, START_MS + at_s * 1000) for value in records), now=at_s)
        self.topic.write(changes)
        self.page.apply(TopicRecord(GAUGES, START_MS, key.encode(), value) for key, value in changes.items())

    def shown(self) -> dict[tuple[str, str], int]:
        return {(each.software_name, each.software_version): each.connections for each in self.page.gauges(100_000).items}


def test_f37_a_million_random_names_and_versions_are_ten_thousand_pairs_everywhere_and_go_again() -> None:
    chance, way = random.Random(37), Way()  # noqa: S311 - the same each time
    there: deque[int] = deque()
    memory: list[int] = []
    scraped: list[int] = []
    empty = sys.getallocatedblocks()
    for number in range(PAIRS):
        name, version = f"{chance.getrandbits(64):x}", f"{chance.getrandbits(32)}.{number}"
        way.registry.opened(number, f"10.0.{number % 200}.1", START_MS, Identity("app", name, version))
        there.append(number)
        if len(there) > OPEN:
            way.registry.closed(there.popleft(), "client_closed", START_MS)
        if number % BEAT == BEAT - 1:
            way.beat(number // BEAT)
            series = way.topic.series()
            assert len(series) <= MOST_SERIES + 2, "the pairs, and other"
            assert sum(each["connections"] for each in series) == len(there), "other has the rest: the sum stays the truth"
            assert len(way.registry.counts()) <= MOST_SERIES + 1
            assert way.shown() == {(each["software_name"], each["software_version"]): each["connections"] for each in series}
            lines = generate_latest(way.metrics.registry).decode().splitlines()
            counted = [line for line in lines if line.startswith("clientscope_gateway_client_connections{")]
            assert sum(float(line.rsplit(" ", 1)[1]) for line in counted) == len(there) and len(lines) < 6_000
            scraped.append(len(counted))
            memory.append(sys.getallocatedblocks() - empty)
    assert way.shown()[OTHER, OTHER] > 0
    assert memory[-1] < 1.5 * memory[1], "memory is flat: as with the first that were as many as may be"
    assert max(scraped) == 1_001, "a scrape stays small, whatever clients call themselves"
    assert way.largest_record < 1_000_000
    while there:
        way.registry.closed(there.popleft(), "client_closed", START_MS)
    for beat in range(5):
        way.beat(PAIRS // BEAT + beat)
    assert way.topic.series() == [] and way.shown() == {}, "series expire"


def test_f28_a_hot_version_and_many_rare_ones_are_counted_as_they_are() -> None:
    """95 % of all events are one version's; the others are once each, beyond the bound as ``other``."""
    chance, way = random.Random(28), Way()  # noqa: S311
    rare = 0
    for number in range(10_000):
        hot = chance.random() < 0.95
        rare += not hot
        way.registry.opened(number, "10.0.0.1", START_MS, Identity("app", "java", "4.4.0" if hot else f"0.{number}"))
    way.beat(0)
    shown = way.shown()
    assert shown["java", "4.4.0"] == way.registry.counts()["java", "4.4.0"] == sum(shown.values()) - rare
    assert len(shown) <= MOST_SERIES + 2
    assert len(json.dumps(list(way.topic.values))) < 10_000_000
