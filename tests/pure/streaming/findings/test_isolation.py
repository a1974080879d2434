"""AN212: consumers that read topics of transactional producers without waiting for commits."""

from __future__ import annotations

import pytest
from fleets import MINUTE, SECOND, Fleet, shown

from streaming.findings.fact_reports import CLIENT_TOPICS, FactReport
from streaming.findings.inputs import whereabouts

CONSUMER = {"group.id": "billing", "isolation.level": "read_uncommitted"}
PRODUCER = {"acks": "all", "enable.idempotence": "true", "transactional.id": "orders-1"}
ELSEWHERE = "10.0.0.2"


def reads_and_writes(fleet: Fleet, read: str = "orders.paid", transactional_id: str | None = "orders-1", **of_consumer: str) -> None:
    """A producer with transactions writes a topic, and a consumer reads one; both say so."""
    fleet.client(settings={**PRODUCER, "transactional.id": transactional_id})
    fleet.client(settings={**CONSUMER, **of_consumer}, client="billing-1", address=ELSEWHERE)
    fleet.reports("orders-1", client_kind="producer", topics=["audit", "orders.paid"])
    fleet.reports("billing-1", ELSEWHERE, client_kind="consumer", topics=[read, "prices"])
    fleet.later()


@pytest.mark.parametrize("read", ["orders.paid", "orders_paid"])
def test_a_consumer_that_reads_what_may_be_aborted_is_a_finding(fleet: Fleet, read: str) -> None:
    reads_and_writes(fleet, read)
    one = fleet.one("AN212")
    assert (one.state, one.severity, one.client_count, one.application.client_id) == ("open", "medium", 1, "billing")
    assert one.evidence == ("orders.paid: orders writes it in transactions",)
    assert shown(one) == {"isolation.level": "read_uncommitted"}


def test_it_ends_an_hour_after_the_last_record(fleet: Fleet) -> None:
    reads_and_writes(fleet)
    fleet.later(50 * MINUTE)
    fleet.reports("orders-1", client_kind="producer", topics=["orders.paid"])
    fleet.later(11 * MINUTE)
    fleet.later(SECOND)
    assert fleet.state("AN212") == "resolved", "nothing was read for an hour"


def test_another_topic_another_isolation_and_another_cluster_are_none() -> None:
    """Nor is a topic that a client with transactions only reads."""
    for read, of_consumer in (("orders", {}), ("audits", {}), ("orders.paid", {"isolation.level": "read_committed"})):
        fleet = Fleet()
        reads_and_writes(fleet, read, **of_consumer)
        assert not fleet.findings("AN212"), (read, of_consumer)
    fleet = Fleet()
    fleet.client(settings=PRODUCER)
    fleet.client(settings=CONSUMER, client="billing-1", cluster="other", address=ELSEWHERE)
    fleet.reports("orders-1", client_kind="producer", topics=["orders"])
    read = FactReport(whereabouts("other", "User:a", "billing-1", ELSEWHERE), fleet.now, client_kind="consumer", topics=["orders"])
    fleet.fact_reports.take([read], fleet.now)
    fleet.client(settings={**PRODUCER, **CONSUMER}, client="both-1")
    fleet.client(settings=CONSUMER, client="billing-2", address=ELSEWHERE)
    fleet.reports("both-1", client_kind="consumer", topics=["invoices"])
    fleet.reports("billing-2", ELSEWHERE, client_kind="consumer", topics=["invoices"])
    fleet.later()
    assert not fleet.findings("AN212")


@pytest.mark.parametrize(("transactional_id", "states"), [("AKIAIOSFODNN7EXAMPLE", ["open"]), ("", []), (None, [])])
def test_who_has_a_transactional_id_even_one_that_is_kept_back_writes_in_transactions(
    fleet: Fleet, transactional_id: str | None, states: list[str]
) -> None:
    reads_and_writes(fleet, transactional_id=transactional_id)
    assert [each.state for each in fleet.findings("AN212")] == states


def test_many_topics_are_a_number(fleet: Fleet) -> None:
    reads_and_writes(fleet, "none")
    topics = [f"t{number}" for number in range(1, 9)]
    fleet.reports("orders-1", client_kind="producer", topics=topics)
    fleet.reports("billing-1", ELSEWHERE, client_kind="consumer", topics=topics)
    fleet.later()
    assert fleet.one("AN212").evidence == (*(f"t{number}: orders writes it in transactions" for number in range(1, 6)), "and 3 more topics")


def test_topics_are_bounded_and_the_bound_is_seen(fleet: Fleet) -> None:
    for begin in (0, 60):
        fleet.reports(client_kind="consumer", topics=[f"t{number}" for number in range(begin, begin + 60)])
        fleet.now += SECOND
    (kept,) = fleet.fact_reports.topics("consumer", fleet.now).values()
    assert len(kept) == CLIENT_TOPICS.most
    assert {f"t{number}" for number in range(60, 120)} <= set(kept), "those that it used last"
    assert fleet.fact_reports.topics_full.count == 1
    fleet.later()
    assert "topics of one client" in fleet.one("OP004").message
