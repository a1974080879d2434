"""Registry of checks, in the order in which they run: what a check needs is found out by those before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from kafka.errors import KafkaError

from clientscope.commands.doctor.cluster import check_brokers, check_clocks, check_rights, check_topics
from clientscope.commands.doctor.files import check_certificates, check_files
from clientscope.commands.doctor.listeners import check_listeners, limited
from clientscope.commands.doctor.machine import check_disk, check_java, check_ports, check_spark
from clientscope.commands.doctor.result import CheckResult, Situation, not_checked
from clientscope.errors import ClientscopeError


@dataclass(frozen=True)
class DoctorCheck:
    """One check.

    Attributes:
        title: what is checked, in two words at most.
        run: yields at least one result; its own errors mean that it wasn't checked.
        limit_s: time after which no result is awaited any more.
    """

    title: str
    run: Callable[[Situation], Iterator[CheckResult]]
    limit_s: float = 40.0


CHECKS = (
    DoctorCheck("java", check_java),
    DoctorCheck("spark", check_spark),
    DoctorCheck("disk", check_disk),
    DoctorCheck("files", check_files),
    DoctorCheck("certificates", check_certificates),
    DoctorCheck("ports", check_ports),
    DoctorCheck("brokers", check_brokers, limit_s=60.0),
    DoctorCheck("listeners", check_listeners, limit_s=60.0),
    DoctorCheck("topics", check_topics, limit_s=60.0),
    DoctorCheck("rights", check_rights),
    DoctorCheck("clocks", check_clocks),
)


def run_all(situation: Situation, checks: Iterable[DoctorCheck] = CHECKS) -> Iterator[tuple[str, list[CheckResult]]]:
    """Each check's title and results, as soon as it is over. A check that fails or hangs is not checked; the others run."""
    try:
        for check in checks:
            yield check.title, _run(check, situation)
    finally:
        if situation.admin is not None:
            with suppress(Exception):  # the answers are there; what closing finds wrong is of no use to anybody
                limited(5.0, situation.admin.close)


def _run(check: DoctorCheck, situation: Situation) -> list[CheckResult]:
    found: list[CheckResult] = []

    def collect() -> None:
        found.extend(check.run(situation))

    try:
        limited(check.limit_s, collect)
    except (ClientscopeError, TimeoutError) as error:
        return [*found, not_checked(str(error)[:300])]
    except (KafkaError, OSError) as error:
        return [*found, not_checked(f"{type(error).__name__}: {str(error)[:200]}")]
    return found
