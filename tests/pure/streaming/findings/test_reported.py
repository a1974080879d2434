"""AN210 and AN406 to AN408: settings against what clients say in their own metrics."""

from __future__ import annotations

import pytest
from fleets import MINUTE, SECOND, Fleet, shown
from golden import cases

CONSUMER = {"group.id": "billing", "max.poll.interval.ms": "300000"}


def test_less_than_a_fifth_left_is_a_finding_until_an_hour_has_passed_without(fleet: Fleet) -> None:
    fleet.client(settings=CONSUMER)
    fleet.reports(poll_interval_max_ms=200_000)
    fleet.later()
    assert not fleet.findings("AN406"), "a third is left"
    fleet.reports(poll_interval_max_ms=280_400)
    fleet.later()
    one = fleet.one("AN406")
    assert (one.state, one.severity, one.client_count) == ("open", "medium", 1)
    assert one.evidence == ("orders-1 at 10.0.0.1: 280 s between two polls, 300 s allowed",)
    assert shown(one) == {"max.poll.interval.ms": "300000"}
    fleet.reports(poll_interval_max_ms=300_000)
    fleet.later()
    assert fleet.one("AN406").severity == "high", "none is left"
    fleet.reports(poll_interval_max_ms=1_000)
    fleet.restart()
    fleet.later(58 * MINUTE)
    assert fleet.state("AN406") == "open", "it was so within the hour, also for another process"
    fleet.later(2 * MINUTE)
    fleet.later(SECOND)
    assert fleet.state("AN406") == "resolved"


def test_where_the_setting_is_not_known_or_the_client_is_another_nothing_is_said(fleet: Fleet) -> None:
    fleet.client(settings={"group.id": "billing"})
    fleet.client(settings={**CONSUMER, "max.poll.interval.ms": "200000..400000"}, client="orders-2")
    fleet.client(settings=CONSUMER, client="orders-3")
    for name in ("orders-1", "orders-2", "orders-4"):
        fleet.reports(name, poll_interval_max_ms=299_000)
    fleet.reports("orders-3", "10.0.0.9", poll_interval_max_ms=299_000)
    for number, text in enumerate(("9" * 30, "٣٠٠٠٠٠", "3e5", "")):
        fleet.client(settings={**CONSUMER, "max.poll.interval.ms": text}, client=f"hostile{number}x")
        fleet.reports(f"hostile{number}x", poll_interval_max_ms=299_000)
    fleet.later()
    assert not fleet.findings("AN406") and not fleet.findings("OP002")


def test_of_several_consumers_of_one_name_the_longest_setting_counts(fleet: Fleet) -> None:
    fleet.client(1, CONSUMER)
    fleet.client(2, {**CONSUMER, "max.poll.interval.ms": "900000"})
    fleet.reports(poll_interval_max_ms=299_000)
    fleet.later()
    assert not fleet.findings("AN406"), "it may be the one that has 15 minutes"


def test_five_clients_are_named(fleet: Fleet) -> None:
    for number in range(1, 8):
        fleet.client(number, CONSUMER, client="", address=f"10.0.0.{number}")
        fleet.reports("", f"10.0.0.{number}", poll_interval_max_ms=299_000)
    fleet.later()
    named = [f"no client.id at 10.0.0.{number}: 299 s between two polls, 300 s allowed" for number in range(1, 6)]
    assert fleet.one("AN406").evidence == (*named, "and 2 more consumers")


def reports_twice(fleet: Fleet, **said: float) -> None:
    for _ in range(2):
        fleet.reports(**said)
        fleet.later()


def test_batches_that_wait_for_far_longer_than_linger_are_a_finding(fleet: Fleet) -> None:
    fleet.client(settings={"acks": "all", "linger.ms": "200"})
    fleet.reports(queue_time_avg_ms=2_300)
    fleet.later()
    assert not fleet.findings("AN407"), "one report may be a start"
    fleet.reports(queue_time_avg_ms=1_900)
    fleet.later()
    one = fleet.one("AN407")
    assert (one.state, one.severity) == ("open", "medium")
    assert one.evidence == ("orders-1 at 10.0.0.1: batches wait 1900 ms on average, 200 ms are asked for",)
    assert shown(one) == {"linger.ms": "200"}


@pytest.mark.parametrize(("code", "setting", "reported", "found"), cases(__file__, "thresholds.txt"))
def test_what_two_reports_say_is_a_finding_from_a_threshold_on(fleet: Fleet, code: str, setting: str, reported: str, found: str) -> None:
    key, value = setting.split("=")
    fleet.client(settings={"group.id": "billing", key: value} if code == "AN210" else {key: value})
    reports_twice(fleet, **{name: float(number) for name, number in (each.split("=") for each in reported.split())})
    assert bool(fleet.findings(code)) == (found == "yes")


def test_the_finding_names_the_bytes_that_make_half_as_many_fetches(fleet: Fleet) -> None:
    fleet.client(settings={"group.id": "billing", "fetch.min.bytes": "1"})
    reports_twice(fleet, fetch_rate=400, fetch_size_avg_bytes=120.5, record_rate=400)
    one = fleet.one("AN210")
    assert one.severity == "info"
    assert one.evidence == ("orders-1 at 10.0.0.1: 400 fetches a second of 120 bytes on average, fetch.min.bytes=242 makes half as many",)


def hour_of_retries(fleet: Fleet, retries: float) -> None:
    for _ in range(12):
        fleet.later(5 * MINUTE)
        fleet.reports(record_retries=retries)


def after_a_change(before: float, after: float) -> Fleet:
    """An hour with so many retries in five minutes, another setting, and ten minutes with so many."""
    fleet = Fleet()
    fleet.client(1, {"acks": "all", "request.timeout.ms": "30000"})
    hour_of_retries(fleet, before)
    fleet.client(2, {"acks": "all", "request.timeout.ms": "2000"})
    for _ in range(2):
        fleet.later(5 * MINUTE)
        fleet.reports(record_retries=after)
    fleet.later()
    return fleet


def test_retries_that_rose_after_a_change_are_a_finding_for_two_hours() -> None:
    fleet = after_a_change(2, 300)
    one = fleet.one("AN408")
    assert (one.state, one.severity) == ("open", "medium")
    assert one.evidence == ("300 records are sent again in five minutes, 2 were before", "request.timeout.ms: 30000 before, 2000 now")
    assert shown(one) == {"request.timeout.ms": "2000"}
    fleet.later(108 * MINUTE)
    assert fleet.state("AN408") == "open"
    fleet.later()
    assert fleet.state("AN408") == "resolved"


@pytest.mark.parametrize(
    ("before", "after", "line"), [(0, 12, "10 records are …, 0 were before"), (0.31, 1_234_567, "1000000 records are …, 0.3 were before")]
)
def test_the_sentence_stays_while_numbers_change_a_little(before: float, after: float, line: str) -> None:
    assert after_a_change(before, after).one("AN408").evidence[0] == line.replace("…", "sent again in five minutes")


@pytest.mark.parametrize(("before", "after", "found"), [(2, 9, False), (2, 10, True), (0, 9, False), (0, 10, True), (50, 240, False)])
def test_risen_is_five_times_as_many_and_twenty_at_least(before: float, after: float, found: bool) -> None:
    assert bool(after_a_change(before, after).findings("AN408")) == found


def test_without_a_change_or_without_reports_from_before_it_retries_are_no_finding(fleet: Fleet) -> None:
    fleet.client(settings={"acks": "all", "retries": "3"})
    hour_of_retries(fleet, 1)
    hour_of_retries(fleet, 500)
    assert not fleet.findings("AN408")
    fleet.client(settings={"acks": "all"}, client="billing-1")
    fleet.client(settings={"acks": "1"}, client="billing-2")
    for _ in range(4):
        fleet.later(5 * MINUTE)
        fleet.reports("billing-1", record_retries=500)
    assert not fleet.findings("AN408")
