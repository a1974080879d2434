"""What clients said lately in their own metrics: the worst counts for an hour, and what two reports have in common."""

from __future__ import annotations

from fleets import HOUR, MINUTE, NOW

from clientscope.findings.fingerprints import application_key
from streaming.findings.fact_reports import INTERVAL_MS, KEPT_MS, SUCCESSIVE_MS, FactReport, FactReports, Worst
from streaming.findings.inputs import whereabouts

THERE = whereabouts("c", "User:a", "orders-1", "10.0.0.1")
APPLICATION = application_key("User:a", "orders", None)


def test_a_longer_time_counts_until_it_is_an_hour_old() -> None:
    reports = FactReports()
    for at_ms, longest_ms in ((NOW, 9.0), (NOW + 1, 5.0), (NOW + HOUR, 6.0), (NOW + HOUR + 1, 3.0)):
        reports.take([FactReport(THERE, at_ms, longest_ms)], at_ms)
    assert reports.worst("poll_interval", NOW + HOUR + 1) == {THERE: Worst(NOW + HOUR, 6.0)}
    assert not reports.worst("poll_interval", NOW + 2 * HOUR)


def test_of_averages_that_counts_which_two_successive_reports_have_in_common() -> None:
    reports = FactReports()
    for minute, wait_ms in ((0, 900.0), (1, 2.0), (2, 300.0), (3, 500.0), (4, 1.0)):
        reports.take([FactReport(THERE, NOW + minute * MINUTE, queue_time_ms=wait_ms)], NOW + minute * MINUTE)
        reports.take([FactReport(THERE, NOW + minute * MINUTE + 1, 1.0)], NOW + minute * MINUTE)  # a consumer with the same names
    assert reports.worst("queue_time", NOW + 5 * MINUTE) == {THERE: Worst(NOW + 3 * MINUTE, 300.0)}


def test_reports_far_apart_have_nothing_in_common() -> None:
    reports = FactReports()
    for at_ms in (NOW, NOW + SUCCESSIVE_MS + 1):
        reports.take([FactReport(THERE, at_ms, queue_time_ms=900.0)], at_ms)
    assert not reports.worst("queue_time", NOW + SUCCESSIVE_MS + 1)


def test_a_rate_is_remembered_with_the_greater_size() -> None:
    reports = FactReports()
    for at_ms, rate, size in ((NOW, 100.0, 50.0), (NOW + 1, 80.0, 90.0), (NOW + 2, 60.0, None)):
        reports.take([FactReport(THERE, at_ms, fetches_per_second=rate, fetch_bytes=size)], at_ms)
    assert reports.worst("fetches", NOW + 2) == {THERE: Worst(NOW + 1, 80.0, 90.0)}


def test_retries_are_counted_per_application_and_interval() -> None:
    reports, other = FactReports(), whereabouts("c", "User:a", "orders-2", "10.0.0.2")
    begin = NOW // INTERVAL_MS * INTERVAL_MS
    for there, at_ms, retries in ((THERE, begin, 1), (THERE, begin + 1, 2), (other, begin + 2, 4), (other, begin + INTERVAL_MS, 0)):
        reports.take([FactReport(there, at_ms, retries=retries)], at_ms)
    first = begin // INTERVAL_MS
    assert reports.retries([APPLICATION, "another"]) == {APPLICATION: {first: 7, first + 1: 0}, "another": {}}


def test_a_client_is_forgotten_some_hours_after_its_last_report_and_so_are_its_retries() -> None:
    reports = FactReports()
    for number in range(100):
        reports.take([FactReport(THERE, NOW + number * INTERVAL_MS, retries=1)], NOW + number * INTERVAL_MS)
    assert len(reports.retries([APPLICATION])[APPLICATION]) == KEPT_MS // INTERVAL_MS
    reports.take([], NOW + 99 * INTERVAL_MS + KEPT_MS)
    assert not reports.retries([APPLICATION])[APPLICATION]


def test_whoever_has_most_is_left_out() -> None:
    reports = FactReports(most=10)
    many = [FactReport(whereabouts("c", None, f"app-{number}", "10.0.0.1"), NOW, 9.0) for number in range(20)]
    few = whereabouts("c", "User:few", "app", "10.0.0.2")
    reports.take([*many, FactReport(few, NOW, 1.0)], NOW)
    assert few in reports.worst("poll_interval", NOW)
    assert (len(reports.worst("poll_interval", NOW)), reports.full.count) == (9, 12)
