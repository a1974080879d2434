"""Status of the process, and its handling of a message's result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from alert_receivers import message, receiver
from made_findings import NOW_MS, made

from sinks.alerts import active, journal
from sinks.alerts.active import Active
from sinks.alerts.delivery import Delivery
from sinks.alerts.metrics import DeliverMetrics
from sinks.alerts.receivers import Receivers
from sinks.alerts.sending import OK, SendResult
from sinks.alerts.worker import Delivered


def test_before_it_has_read_anything_it_is_starting_and_not_ready() -> None:
    delivery = Delivery("127.0.0.1:1", Receivers((receiver(),)))
    last = delivery.status(NOW_MS, 5_000)
    assert (last.kind, last.condition, last.told_ms, last.interval_ms) == ("deliver", "starting", NOW_MS, 5_000)
    assert (delivery.ready(), delivery.health()) == ("it hasn't read the findings yet", "")
    assert last.figures["undelivered_findings"] == 0


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> dict[str, Mapping[str, Any]]:
    """What would be written to each topic, without a broker."""
    kept: dict[str, Mapping[str, Any]] = {}

    class Recording:
        def __init__(self, _: Any, topic: str, __: str) -> None:
            self.topic = topic

        def write(self, records: Mapping[str, Any]) -> None:
            kept[self.topic] = records

    monkeypatch.setattr(journal, "TopicWriter", Recording)
    return kept


def settled(result: SendResult, *findings: Any, known: Any = None) -> Active:
    made_of = Active("127.0.0.1:1", Receivers((receiver(),)), "", DeliverMetrics(["hook"]))
    chosen = findings or (made(1),)
    made_of.book.take_findings({one.fingerprint: one.model_dump_json().encode() for one in known or chosen}, NOW_MS)
    last = message(*chosen)
    made_of.book.plan(last.plan)
    made_of.take_settled(Delivered(last, result, 3))
    return made_of


def test_what_was_delivered_is_written_down_and_its_plan_is_gone(written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active, "now_ms", lambda: NOW_MS)
    made_of = settled(OK)
    last = made_of.book.last_delivery("hook", made(1).fingerprint)
    assert last is not None
    assert (last.status, last.number, last.times_ms, made_of.book.plans) == ("firing", 1, [NOW_MS], {})
    made_of.journal.flush()
    deliveries = written["clientscope.deliveries"]
    assert [value is None for value in deliveries.values()] == [True, False], "the plan is deleted, what was delivered is kept"
    assert written.keys() == {"clientscope.deliveries"}


@pytest.mark.parametrize(("outcome", "disabled"), [("failed", False), ("gone", True)])
def test_what_was_given_up_is_a_dead_letter(outcome: Any, disabled: bool, written: Any) -> None:
    made_of = settled(SendResult(outcome, "HTTP 500"))
    made_of.journal.flush()
    (letter,) = written["clientscope.deadletter"].values()
    assert b"HTTP 500" in letter and b'"attempts":3' in letter
    assert ("hook" in made_of.book.disabled) is disabled
    assert bool(made_of.problems()) is disabled
    last = made_of.book.last_delivery("hook", made(1).fingerprint)
    assert last is not None and last.status == "dead"


def test_a_replay_of_what_is_long_over_changes_nothing() -> None:
    newer = made(1, alert={"number": 4, "why": "reopened", "at_ms": NOW_MS})
    made_of = settled(OK, newer)
    made_of.take_settled(Delivered(message(made(1)), OK, 1))
    last = made_of.book.last_delivery("hook", made(1).fingerprint)
    assert last is not None and last.number == 4
