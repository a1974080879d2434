"""What clients said lately in their own metrics: the worst counts for an hour, and what two reports have in common."""

from __future__ import annotations

import pytest
from fleets import MINUTE, NOW, SECOND

from clientscope.findings.fingerprints import application_key
from streaming.findings.fact_reports import INTERVAL_MS, KEPT_MS, LASTING_MS, FactReport, FactReports, Worst
from streaming.findings.inputs import whereabouts

THERE = whereabouts("c", "User:a", "orders-1", "10.0.0.1")
APPLICATION = application_key("User:a", "orders", None)


@pytest.fixture
def reports() -> FactReports:
    return FactReports()


def reported(reports: FactReports, at_ms: int, **said: float | None) -> None:
    """The client says something at this time."""
    reports.take([FactReport(THERE, at_ms, **said)], at_ms)


def test_of_averages_that_counts_which_all_reports_of_a_minute_have_in_common(reports: FactReports) -> None:
    for minute, wait_ms in ((0, 900.0), (1, 2.0), (2, 300.0), (3, 500.0), (4, 1.0)):
        reported(reports, NOW + minute * MINUTE, queue_time_avg_ms=wait_ms)
        reports.take([FactReport(THERE, NOW + minute * MINUTE + 1, 1.0)], NOW + minute * MINUTE)  # a consumer with the same names
    assert reports.worst("queue_time_avg_ms", NOW + 5 * MINUTE) == {THERE: Worst(NOW + 3 * MINUTE, 300.0)}


def test_an_average_of_the_same_minute_counts_once_however_often_it_is_said(reports: FactReports) -> None:
    for second, wait_ms in ((0, 900.0), (10, 900.0), (59, 900.0), (61, 2.0), (121, 800.0)):
        reported(reports, NOW + second * SECOND, queue_time_avg_ms=wait_ms)
    assert reports.worst("queue_time_avg_ms", NOW + 3 * MINUTE) == {THERE: Worst(NOW + 121 * SECOND, 2.0)}
    for second, wait_ms in ((150, 700.0), (170, 900.0), (181, 800.0)):
        reported(reports, NOW + second * SECOND, queue_time_avg_ms=wait_ms)
    assert reports.worst("queue_time_avg_ms", NOW + 4 * MINUTE) == {THERE: Worst(NOW + 181 * SECOND, 700.0)}


def test_reports_far_apart_have_nothing_in_common(reports: FactReports) -> None:
    for at_ms in (NOW, NOW + LASTING_MS + 1):
        reported(reports, at_ms, queue_time_avg_ms=900.0)
    assert not reports.worst("queue_time_avg_ms", NOW + LASTING_MS + 1)


def test_a_rate_is_remembered_with_the_greater_size(reports: FactReports) -> None:
    for minute, rate, size in ((0, 100.0, 50.0), (1, 80.0, 90.0), (2, 60.0, None)):
        said = {"fetch_rate": rate, "fetch_size_avg_bytes": size, "record_rate": 500.0}
        reported(reports, NOW + minute * MINUTE, **said)
    assert reports.worst("fetch_rate", NOW + 2 * MINUTE) == {THERE: Worst(NOW + MINUTE, 80.0, 90.0)}


def test_fetches_that_bring_no_record_do_not_count(reports: FactReports) -> None:
    for minute in range(2):
        said = {"fetch_rate": 80.0, "fetch_size_avg_bytes": 15.0, "record_rate": 0.5}
        reported(reports, NOW + minute * MINUTE, **said)
    assert reports.worst("fetch_rate", NOW + MINUTE) == {THERE: Worst(NOW + MINUTE, 0.5, 15.0)}


def test_a_client_is_forgotten_some_hours_after_its_last_report_and_so_are_its_retries(reports: FactReports) -> None:
    for number in range(100):
        reported(reports, NOW + number * INTERVAL_MS, record_retries=1)
    assert len(reports.retries([APPLICATION])[APPLICATION]) == KEPT_MS // INTERVAL_MS
    reports.take([], NOW + 99 * INTERVAL_MS + KEPT_MS)
    assert not reports.retries([APPLICATION])[APPLICATION]


def test_whoever_has_most_is_left_out() -> None:
    reports = FactReports(most=10)
    many = [FactReport(whereabouts("c", None, f"app-{number}", "10.0.0.1"), NOW, 9.0) for number in range(20)]
    few = whereabouts("c", "User:few", "app", "10.0.0.2")
    reports.take([*many, FactReport(few, NOW, 1.0)], NOW)
    assert few in reports.worst("poll_interval_max_ms", NOW)
    assert (len(reports.worst("poll_interval_max_ms", NOW)), reports.full.count) == (9, 12)
