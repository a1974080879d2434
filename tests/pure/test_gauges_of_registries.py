"""F18: whatever order the records of gateways come in, how often, and by which clock: the gauges end as the truth and are never negative.

The records are the registry's own, the way to rows is the kernel's; Hypothesis makes the histories and the disorder.
"""

from __future__ import annotations

import json
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from newest_counts import NewestCounts

from clientscope.gateway.place import Place
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.records.codec import encode
from clientscope.session.state import Identity
from sinks.gauges import Gauges

SKEW_MS = 5 * 60 * 1000
START_MS = 1_700_000_000_000
NAMES = ("kafka-python", "librdkafka", "apache-kafka-java")

Truth = Counter[tuple[str, str]]
steps = st.lists(st.tuples(st.sampled_from(["open", "identify", "close", "beat"]), st.integers(0, 9), st.sampled_from(NAMES)), max_size=30)


def run(gateway: str, epoch: int, skew_ms: int, history: list[tuple[str, int, str]], heartbeats: int = 1) -> tuple[list[bytes], Truth]:
    """The records of one gateway's process, so many heartbeats at the end included, and who is connected in the end."""
    registry = ConnectionRegistry(Place("cluster", 1, gateway, epoch, "CLIENT"))
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
    for beat in range(heartbeats):
        records += registry.heartbeat(START_MS + skew_ms + (len(history) + beat) * 1000, 5000)
    return [encode(record) for record in records], Counter((gateway, name) for name in is_open.values())


def shown(published: dict[str, bytes]) -> Truth:
    found: Truth = Counter()
    for text in published.values():
        value = json.loads(text)
        assert value["connections"] > 0
        found[value["gateway"], value["software_name"]] += value["connections"]
    return found


@settings(deadline=None)
@given(
    first=steps, second=steps, before=steps, skews=st.tuples(*[st.integers(-SKEW_MS, SKEW_MS)] * 3), data=st.data(),
)  # fmt: skip
def test_f18_repeated_late_and_skewed_records_change_nothing(
    first: list[tuple[str, int, str]],
    second: list[tuple[str, int, str]],
    before: list[tuple[str, int, str]],
    skews: tuple[int, int, int],
    data: st.DataObject,
) -> None:
    """Two gateways, the first of them restarted once; every record comes, some twice, in any order, cut into any batches."""
    replaced, _ = run("g", 1000, skews[0], before)
    ours, our_truth = run("g", 2000, skews[1], first)
    theirs, their_truth = run("h", 1500, skews[2], second)
    once = replaced + ours + theirs
    again = data.draw(st.lists(st.sampled_from(once), max_size=20))
    order = data.draw(st.permutations(once + again))
    size = data.draw(st.integers(1, 20))
    newest, gauges = NewestCounts(), Gauges({}, now=0)
    published: dict[str, bytes] = {}
    for start in range(0, len(order), size):
        rows = newest.batch((value, START_MS + start) for value in order[start : start + size])
        for key, value in gauges.apply(rows, now=start / 1000).items():
            if value is None:
                del published[key]
            else:
                published[key] = value
        shown(published)  # none is negative or zero
    assert shown(published) == our_truth + their_truth


@settings(deadline=None)
@given(history=steps, data=st.data())
def test_f16_three_heartbeats_mend_whatever_was_lost(history: list[tuple[str, int, str]], data: st.DataObject) -> None:
    values, truth = run("g", 1000, 0, history, heartbeats=3)
    kept = [value for value in values[:-3] if data.draw(st.booleans())] + values[-3:]
    newest, gauges = NewestCounts(), Gauges({}, now=0)
    published: dict[str, bytes | None] = {}
    for number, value in enumerate(kept):
        published |= gauges.apply(newest.batch([(value, START_MS + number)]), now=0)
    assert shown({key: text for key, text in published.items() if text is not None}) == truth


@settings(deadline=None)
@given(history=steps, skew_ms=st.integers(-SKEW_MS, SKEW_MS))
def test_f18_a_wrong_clock_loses_no_gateway(history: list[tuple[str, int, str]], skew_ms: int) -> None:
    """A gateway is lost by Kafka's clock alone, whatever its own says."""
    values, truth = run("g", START_MS + skew_ms, skew_ms, history)
    gauges = Gauges({}, now=0)
    gauges.apply(NewestCounts().batch((value, START_MS) for value in values), now=100)
    assert gauges.expire(now=114) == {}
    assert bool(gauges.expire(now=116)) == bool(truth)
