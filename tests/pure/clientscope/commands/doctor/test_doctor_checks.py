"""The run of checks: one that fails or hangs is not checked, and the others run."""

from __future__ import annotations

import time
from collections.abc import Iterator

from clientscope.commands.doctor.brokers import check_brokers
from clientscope.commands.doctor.checks import CHECKS, DoctorCheck, run_all
from clientscope.commands.doctor.result import CheckResult, Outcome, ok
from clientscope.commands.doctor.situation import Situation
from clientscope.config import KafkaSettings
from clientscope.errors import EnvironmentProblem
from clientscope.kafka.access import KafkaAccess
from clientscope.local.process import free_port


def nobody() -> Situation:
    return Situation(KafkaSettings(), None, None, None, None)


def fails(_: Situation) -> Iterator[CheckResult]:
    yield ok("first")
    raise EnvironmentProblem("no right")


def hangs(_: Situation) -> Iterator[CheckResult]:
    time.sleep(5)
    yield ok("late")


def well(_: Situation) -> Iterator[CheckResult]:
    yield ok("well")


def test_the_others_run() -> None:
    found = dict(run_all(nobody(), (DoctorCheck("a", fails), DoctorCheck("b", hangs, limit_s=0.1), DoctorCheck("c", well))))
    assert [[(each.outcome, each.text) for each in results] for results in found.values()] == [
        [(Outcome.OK, "first"), (Outcome.NOT_CHECKED, "no right")],
        [(Outcome.NOT_CHECKED, "no answer within 0 s")],
        [(Outcome.OK, "well")],
    ]


def test_titles_are_unique_and_what_others_need_comes_before() -> None:
    titles = [check.title for check in CHECKS]
    assert len(set(titles)) == len(titles)
    assert titles.index("files") < titles.index("brokers") < min(titles.index(each) for each in ("listeners", "topics", "clocks", "bypass"))


def test_no_broker() -> None:
    situation = nobody()
    assert [each.outcome for each in check_brokers(situation)] == [Outcome.NOT_CHECKED]
    address = f"127.0.0.1:{free_port()}"
    situation.access = KafkaAccess(address)
    (found,) = check_brokers(situation)
    assert found.outcome is Outcome.PROBLEM and f"no broker answers at {address}" in found.text and situation.admin is None
