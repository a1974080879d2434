"""gateway/untold: after any outage, the topic shows who is connected; connections that opened and closed meanwhile leave nothing."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.gateway.untold import Untold
from clientscope.records.codec import Kind
from clientscope.session.state import Identity

PLACE = GatewayPlace("cluster", 1, "gateway-1", 1000, "CLIENT")
steps = st.lists(st.tuples(st.sampled_from(["open", "identify", "close", "heal"]), st.integers(0, 9), st.booleans()), max_size=60)


class Topic:
    """What a reader of the topic knows; it takes records only while it is up."""

    def __init__(self) -> None:
        self.untold = Untold()
        self.open: dict[int, str] = {}
        self.closed: list[int] = []

    def publish(self, record: Any, up: bool) -> None:
        self.untold.published(record, taken=up)
        if up and record.kind == Kind.CLOSED:
            self.open.pop(record.connection_id, None)
            self.closed.append(record.connection_id)
        elif up:
            self.open[record.connection_id] = record.client_software_name


def heal(topic: Topic, registry: ConnectionRegistry, up: bool, most: int) -> None:
    """What the gateway does with each heartbeat."""
    for record in topic.untold.take_closed(most):
        topic.publish(record, up)
    for record in registry.again(topic.untold.open(most), 9):
        topic.publish(record, up)


@given(steps)
def test_f16_nothing_stays_untold(history: list[tuple[str, int, bool]]) -> None:
    registry, topic = ConnectionRegistry(PLACE), Topic()
    truth: dict[int, str] = {}
    told_open = 0
    for new_id, (step, number, up) in enumerate(history):
        if step == "open":
            truth[new_id] = "unknown"
            topic.publish(registry.opened(new_id, "10.0.0.1", 1), up)
            told_open += up
        elif step == "heal":
            heal(topic, registry, up, number)
        elif truth:
            connection_id = sorted(truth)[number % len(truth)]
            if step == "identify":
                topic.publish(registry.identified(connection_id, Identity("app", f"n{number}", "1"), 2), up)
                truth[connection_id] = f"n{number}"
            else:
                topic.publish(registry.closed(connection_id, "client_closed", 3), up)
                del truth[connection_id]
    for _ in range(len(history) + 1):
        heal(topic, registry, True, 3)
    assert topic.open == truth
    assert len(topic.closed) == len(set(topic.closed)), "each close is told once"
    assert not topic.untold.open(1) and not topic.untold.take_closed(1)


def test_what_comes_and_goes_untold_leaves_nothing() -> None:
    registry, untold = ConnectionRegistry(PLACE), Untold()
    for connection_id in range(1000):
        untold.published(registry.opened(connection_id, "10.0.0.1", 1), taken=False)
        untold.published(registry.identified(connection_id, Identity("app", "x", "1"), 2), taken=False)  # type: ignore[arg-type]
        untold.published(registry.closed(connection_id, "client_closed", 3), taken=False)  # type: ignore[arg-type]
    assert not untold._new and not untold._changed and not untold._closed


def test_without_room_nothing_is_taken() -> None:
    registry, untold = ConnectionRegistry(PLACE), Untold()
    untold.published(registry.opened(7, "10.0.0.1", 1), taken=False)
    assert untold.open(0) == untold.open(-5) == []
    assert untold.open(10) == [7]
