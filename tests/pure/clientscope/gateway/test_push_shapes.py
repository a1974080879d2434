"""gateway/push_shapes: one shape for each connection, within a bound; what changes is judged in full, and shapes it no longer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from telemetry_frames import measured

from clientscope.gateway.telemetry import PushShapes
from clientscope.policy.push_shape import PushShape
from clientscope.records.telemetry import BUFFER_MEMORY


def pushed(name: str = "a", value: float = 1.0) -> bytes:
    """A push that needs no change to be a record."""
    return measured({name: value}).SerializeToString()


class Pushing:
    """Connections whose pushes are judged in full unless their shape is known."""

    def __init__(self, most_bytes: int = 1_000_000) -> None:
        self.counts: Counter[str] = Counter()
        self.shapes = PushShapes(lambda what, reason: self.counts.update([f"{what} {reason}"]), most_bytes)

    def push(self, unpacked: bytes, connection_id: int = 1, client: str = "c", with_settings: bool = False) -> bool:
        """Whether the shape was known."""
        record = self.shapes.record(connection_id, client, unpacked, with_settings)
        if record is None:
            self.shapes.judged(connection_id, client, unpacked, unpacked)
        else:
            assert MetricsData.FromString(record) == MetricsData.FromString(unpacked)
        return record is not None


@pytest.mark.parametrize(
    ("names", "clients", "known"),
    [("aaaa", "cccc", "--++"), (["a", "a", "a", "bb", "bb", "bb", "a"], "c" * 7, "--+--+-"), ("a" * 8, "ccccdddd", "--++--++")],
    ids=["another number each time", "another metric", "another client"],
)
def test_a_shape_is_known_from_the_third_push_on(names: Sequence[str], clients: str, known: str) -> None:
    pushing = Pushing()
    pushes = enumerate(zip(names, clients, strict=True), 1)
    assert [pushing.push(pushed(name, float(value)), client=client) for value, (name, client) in pushes] == [each == "+" for each in known]
    assert sum(pushing.counts.values()) == known.count("-")


def test_what_is_new_each_time_is_looked_at_for_a_shape_only_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Counter[int]()
    of = PushShape.of
    monkeypatch.setattr(PushShape, "of", lambda *push: made.update([1]) or of(*push))
    pushing = Pushing()
    for number in range(1 + 17 * 10):
        assert not pushing.push(pushed(f"metric-{number:04}"))
    assert made[1] == 10
    assert [pushing.push(pushed("metric-0000")) for _ in range(20)][-1], "a client that becomes regular"


def test_a_push_that_may_show_a_setting_is_judged_in_full_where_that_is_wanted() -> None:
    pushing = Pushing()
    for _ in range(2):
        pushing.push(pushed(BUFFER_MEMORY))
    assert not pushing.push(pushed(BUFFER_MEMORY), with_settings=True)
    assert pushing.push(pushed(BUFFER_MEMORY))
    for _ in range(2):
        pushing.push(pushed(), 2)
    assert pushing.push(pushed(), 2, with_settings=True)


def test_at_the_bound_connections_without_a_shape_get_none_until_another_ends() -> None:
    pushing = Pushing(most_bytes=1)
    assert [pushing.push(pushed(), 1) for _ in range(3)] == [False, False, True]
    assert [pushing.push(pushed(), 2) for _ in range(3)] == [False, False, False]
    assert pushing.push(pushed(), 1), "a client takes nothing from another"
    assert pushing.counts == {"telemetry_judged new": 2, "telemetry_judged no_room": 3}
    pushing.shapes.forget(1)
    assert pushing.shapes.size == 0
    assert [pushing.push(pushed(), 2) for _ in range(2)] == [False, True]
