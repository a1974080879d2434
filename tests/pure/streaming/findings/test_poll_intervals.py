"""AN406: a consumer that almost exceeds max.poll.interval.ms, by its own metrics and its own setting."""

from __future__ import annotations

from fleets import HOUR, MINUTE, NOW, SECOND, Fleet

from streaming.findings.inputs import whereabouts
from streaming.findings.poll_intervals import PollInterval, PollIntervals

CONSUMER = {"group.id": "billing", "max.poll.interval.ms": "300000"}


def test_less_than_a_fifth_left_is_a_finding_until_an_hour_has_passed_without() -> None:
    fleet = Fleet()
    fleet.client(settings=CONSUMER)
    fleet.polls_after(200_000)
    fleet.later(MINUTE)
    assert not fleet.findings("AN406"), "a third is left"
    fleet.polls_after(280_400)
    fleet.later(MINUTE)
    one = fleet.one("AN406")
    assert (one.state, one.severity, one.client_count) == ("open", "medium", 1)
    assert one.evidence == ["orders-1 at 10.0.0.1: 280 s between two polls, 300 s allowed"]
    assert [(each.key, each.value) for each in one.settings] == [("max.poll.interval.ms", "300000")]
    fleet.polls_after(1_000)
    fleet.later(30 * MINUTE)
    assert fleet.one("AN406").state == "open", "it was so within the hour"
    fleet.later(31 * MINUTE)
    fleet.later(SECOND)
    assert fleet.one("AN406").state == "resolved"


def test_an_exceeded_interval_is_high() -> None:
    fleet = Fleet()
    fleet.client(settings=CONSUMER)
    fleet.polls_after(300_000)
    fleet.later(MINUTE)
    assert fleet.one("AN406").severity == "high"


def test_where_the_setting_is_not_known_or_the_client_is_another_nothing_is_said() -> None:
    fleet = Fleet()
    fleet.client("orders-1", settings={"group.id": "billing"})
    fleet.client("orders-2", settings={**CONSUMER, "max.poll.interval.ms": "200000..400000"})
    fleet.client("orders-3", settings=CONSUMER)
    for name in ("orders-1", "orders-2", "orders-4"):
        fleet.polls_after(299_000, name)
    fleet.polls_after(299_000, "orders-3", "10.0.0.9")
    fleet.later(MINUTE)
    assert not fleet.findings("AN406")


def test_of_several_consumers_of_one_name_the_longest_setting_counts() -> None:
    fleet = Fleet()
    fleet.client(instance=1, settings=CONSUMER)
    fleet.client(instance=2, settings={**CONSUMER, "max.poll.interval.ms": "900000"})
    fleet.polls_after(299_000)
    fleet.later(MINUTE)
    assert not fleet.findings("AN406"), "it may be the one that has 15 minutes"


def test_a_restart_ends_nothing_within_the_hour() -> None:
    fleet = Fleet()
    fleet.client(settings=CONSUMER)
    fleet.polls_after(290_000)
    fleet.later(MINUTE)
    fleet.start()
    fleet.later(MINUTE)
    fleet.later(58 * MINUTE)
    assert fleet.one("AN406").state == "open"
    fleet.later(2 * MINUTE)
    fleet.later(SECOND)
    assert fleet.one("AN406").state == "resolved"


def test_a_longer_time_counts_until_it_is_an_hour_old() -> None:
    polls, there = PollIntervals(), whereabouts("c", None, "app", "10.0.0.1")
    for at_ms, longest_ms in ((NOW, 9.0), (NOW + 1, 5.0), (NOW + HOUR, 6.0), (NOW + HOUR + 1, 3.0)):
        polls.take([(there, PollInterval(at_ms, longest_ms))], at_ms)
    assert polls.recent(NOW + HOUR + 1) == {there: PollInterval(NOW + HOUR, 6.0)}


def test_whoever_has_most_is_left_out() -> None:
    polls = PollIntervals(most=10)
    many = [(whereabouts("c", None, f"app-{number}", "10.0.0.1"), PollInterval(NOW, 9.0)) for number in range(20)]
    few = whereabouts("c", "User:few", "app", "10.0.0.2")
    polls.take([*many, (few, PollInterval(NOW, 1.0))], NOW)
    assert few in polls.recent(NOW)
    assert (len(polls.recent(NOW)), polls.full.count) == (9, 12)
