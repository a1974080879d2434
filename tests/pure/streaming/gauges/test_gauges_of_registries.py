"""F18: gateways' records in any order, repeated, by any clock, with any restart of the job: the gauges end as the truth.

The records are the registry's own, the way to rows is the kernel's; Hypothesis makes the histories, the disorder and the stops.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import oracle
import pytest
from fleets import as_json, connected
from gauge_rows import Topic, rows
from hypothesis import given, settings
from hypothesis import strategies as st

from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.model.codec import encode
from clientscope.session.state import Identity
from streaming.gauges import Gauges
from streaming.gauges import series as table

SKEW_MS = 5 * 60 * 1000
START_MS = 1_700_000_000_000
CLOCKS = st.integers(-SKEW_MS, SKEW_MS) | st.sampled_from([-START_MS, -2 * START_MS, 4_102_444_800_000 - START_MS])
"""How wrong a gateway's clock is: minutes, or 1970, negative, 2100 (F29)."""
NAMES = ("kafka-python", "librdkafka", "apache-kafka-java")

Truth = Counter[tuple[str, str]]
History = list[tuple[str, int, str]]
steps = st.lists(st.tuples(st.sampled_from(["open", "identify", "close", "beat"]), st.integers(0, 9), st.sampled_from(NAMES)), max_size=30)


@dataclass
class Life:
    """The records of one gateway's process, and who is connected in the end."""

    values: list[bytes]
    truth: Truth
    beats: list[bytes]


def live(gateway: str, epoch: int, skew_ms: int, history: History, heartbeats: int = 1, farewell: bool = False) -> Life:
    """A gateway's process, with so many heartbeats at the end."""
    registry = ConnectionRegistry(GatewayPlace("cluster", 1, gateway, epoch, "CLIENT"))
    records = []
    is_open: dict[int, str] = {}
    for number, (step, which, name) in enumerate(history):
        now_ms = START_MS + skew_ms + number * 1000
        if step == "open":
            records.append(registry.opened(number, "10.0.0.1", now_ms))
            is_open[number] = "unknown"
        elif step == "beat":
            records += registry.heartbeat(now_ms, 5000)
        elif is_open:
            connection_id = sorted(is_open)[which % len(is_open)]
            if step == "identify":
                records.append(registry.identified(connection_id, Identity("app", name, "1"), now_ms))  # type: ignore[arg-type]
                is_open[connection_id] = name
            else:
                records.append(registry.closed(connection_id, "client_closed", now_ms))  # type: ignore[arg-type]
                del is_open[connection_id]
    beats = []
    for beat in range(heartbeats):
        beats += registry.heartbeat(START_MS + skew_ms + (len(history) + beat) * 1000, 0 if farewell else 5000)
    truth = Counter() if farewell else Counter((gateway, name) for name in is_open.values())
    return Life([encode(record) for record in (*records, *beats)], truth, [encode(beat) for beat in beats])


def shown(topic: Topic) -> Truth:
    found: Truth = Counter()
    for value in topic.series():
        assert value["connections"] > 0
        assert abs(value["timestamp_ms"] - START_MS) < 24 * 60 * 60 * 1000 + SKEW_MS, "1970 and 2100 show nowhere"
        found[value["gateway"], value["software_name"]] += value["connections"]
    return found


@settings(deadline=None)
@given(first=steps, second=steps, before=steps, skews=st.tuples(CLOCKS, CLOCKS, CLOCKS), data=st.data())
def test_f18_repeated_late_and_skewed_records_change_nothing(
    first: History, second: History, before: History, skews: tuple[int, int, int], data: st.DataObject
) -> None:
    """Two gateways of one broker, the first of them restarted once; every record comes, some twice, in any order, cut into any batches."""
    replaced, ours = live("g", 1000, skews[0], before), live("g", 2000, skews[1], first)
    theirs = live("h", 1500, skews[2], second)
    once = replaced.values + ours.values + theirs.values
    again = data.draw(st.lists(st.sampled_from(once), max_size=20))
    order = data.draw(st.permutations(once + again))
    size = data.draw(st.integers(1, 20))
    gauges, topic = Gauges({}, now=0), Topic()
    for start in range(0, len(order), size):
        batch = rows((value, START_MS + start) for value in order[start : start + size])
        topic.write(gauges.apply(batch, now=start / 1000))
        shown(topic)  # none is negative or zero
    assert shown(topic) == ours.truth + theirs.truth


@settings(deadline=None)
@given(
    histories=st.lists(st.tuples(st.sampled_from("ghi"), CLOCKS, st.booleans(), steps), min_size=1, max_size=4), data=st.data(),
)  # fmt: skip
def test_f22_a_job_that_is_killed_anywhere_says_what_the_log_says(
    histories: list[tuple[str, int, bool, History]], data: st.DataObject
) -> None:
    """Records in the order of the log; some batches are written in part only, and then read again by a new process."""
    lives = [
        live(gateway, 1000 + number, skew, history, farewell=leaves) for number, (gateway, skew, leaves, history) in enumerate(histories)
    ]
    log = [value for each in lives for value in each.values]
    gauges, topic = Gauges({}, now=0), Topic()
    taken: list[tuple[int, bytes]] = []
    while len(taken) < len(log):
        batch = [(value, START_MS + len(taken)) for value in log[len(taken) :][: data.draw(st.integers(1, 20))]]
        if data.draw(st.booleans()):
            changes = gauges.apply(rows(batch), now=0)
            topic.write({key: value for key, value in changes.items() if data.draw(st.booleans())})
            gauges = Gauges(topic.values, now=0)
        topic.take(gauges, rows(batch))
        taken += [(at_ms, value) for value, at_ms in batch]
        shown(topic)
        assert topic.recorded() == oracle.gauges(as_json(connected(taken)))


@settings(deadline=None)
@given(first=steps, before=steps, data=st.data())
def test_f16_after_losses_and_disorder_across_restarts_one_whole_heartbeat_makes_it_true(
    first: History, before: History, data: st.DataObject
) -> None:
    """What the topic said is kept over a restart of the job, or lost with it."""
    replaced, ours = live("g", 1000, 0, before), live("g", 2000, 0, first)
    order = [value for value in data.draw(st.permutations(replaced.values + ours.values * 2)) if data.draw(st.booleans())]
    gauges, topic = Gauges({}, now=0), Topic()
    for start in range(0, len(order), 5):
        topic.take(gauges, rows((value, START_MS) for value in order[start : start + 5]))
        if data.draw(st.booleans()):
            topic = topic if data.draw(st.booleans()) else Topic()
            gauges = Gauges(topic.values, now=0)
    topic.take(gauges, rows((value, START_MS) for value in ours.beats))
    assert shown(topic) == ours.truth


@settings(deadline=None)
@given(counts=st.lists(st.integers(1, 5), max_size=30), most=st.integers(1, 8))
def test_f28_the_sum_stays_the_truth_beyond_the_bound_of_the_gateway(counts: list[int], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "MOST_SERIES", most)
        registry = ConnectionRegistry(GatewayPlace("cluster", 1, "g", 1, "CLIENT"), most_series=most)
        number = 0
        for version, count in enumerate(counts):
            for _ in range(count):
                registry.opened(number, "10.0.0.1", START_MS, Identity("app", "x", str(version)))
                number += 1
        gauges, topic = Gauges({}, now=0), Topic()
        topic.take(gauges, rows((encode(record), START_MS) for record in registry.heartbeat(START_MS, 5000)))
        assert sum(shown(topic).values()) == sum(counts)
        assert len(topic.series()) == min(len(counts), most + 1)
