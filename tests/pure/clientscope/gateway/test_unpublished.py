"""gateway/unpublished: after any outage, the topic shows who is connected; connections that opened and closed meanwhile leave nothing."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.registry import ConnectionRegistry, Unpublished
from clientscope.records.enums import Kind
from clientscope.session.state import Identity

PLACE = GatewayPlace("cluster", 1, "gateway-1", 1000, "CLIENT")
steps = st.lists(st.tuples(st.sampled_from(["open", "identify", "close", "heal"]), st.integers(-2, 9), st.booleans()), max_size=60)


class Topic:
    """What a reader of the topic knows; it takes records only while it is up."""

    def __init__(self) -> None:
        self.unpublished = Unpublished()
        self.open: dict[int, str] = {}
        self.closed: list[int] = []

    def publish(self, record: Any, up: bool) -> None:
        self.unpublished.published(record, taken=up)
        if up and record.kind == Kind.CLOSED:
            self.open.pop(record.connection_id, None)
            self.closed.append(record.connection_id)
        elif up:
            self.open[record.connection_id] = record.client_software_name


def heal(topic: Topic, registry: ConnectionRegistry, up: bool, most: int) -> None:
    """What the gateway does with each heartbeat, in which there may be no room."""
    closed = topic.unpublished.take_closed(most)
    for record in closed:
        topic.publish(record, up)
    opened = topic.unpublished.open(most)
    for record in registry.again(opened, 9):
        topic.publish(record, up)
    assert max(len(closed), len(opened)) <= max(most, 0)


@given(steps)
def test_f16_nothing_stays_unpublished(history: list[tuple[str, int, bool]]) -> None:
    registry, topic = ConnectionRegistry(PLACE), Topic()
    truth: dict[int, str] = {}
    shown_open = 0
    for new_id, (step, number, up) in enumerate(history):
        if step == "open":
            truth[new_id] = "unknown"
            topic.publish(registry.opened(new_id, "10.0.0.1", 1), up)
            shown_open += up
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
    assert len(topic.closed) == len(set(topic.closed)), "each close is recorded once"
    assert not topic.unpublished.open(1) and not topic.unpublished.take_closed(1)


def test_what_comes_and_goes_unpublished_leaves_nothing() -> None:
    registry, unpublished = ConnectionRegistry(PLACE), Unpublished()
    for connection_id in range(1000):
        unpublished.published(registry.opened(connection_id, "10.0.0.1", 1), taken=False)
        unpublished.published(registry.identified(connection_id, Identity("app", "x", "1"), 2), taken=False)  # type: ignore[arg-type]
        unpublished.published(registry.closed(connection_id, "client_closed", 3), taken=False)  # type: ignore[arg-type]
    assert unpublished.open(1) == unpublished.take_closed(1) == []
    # Nothing is remembered of these numbers either: were they still new, their closing would need no record.
    for connection_id in range(1000):
        unpublished.published(registry.opened(connection_id, "10.0.0.1", 4), taken=True)
        unpublished.published(registry.closed(connection_id, "client_closed", 5), taken=False)  # type: ignore[arg-type]
    assert len(unpublished.take_closed(2000)) == 1000
