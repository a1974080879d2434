"""Check of this machine's clock against the brokers'.

Brokers stamp records of clientscope's topics with their own time (LogAppendTime). The next record that arrives was stamped a moment ago;
nothing is written to find that out. If none arrives, the newest one is a bound: a broker's time can't be before it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

from kafka.errors import KafkaError

from clientscope.commands.doctor.result import CheckResult, not_checked, ok, problem, warning
from clientscope.commands.doctor.situation import CLIENT_ID, Situation
from clientscope.kafka.reader import OffsetRange, TopicReader
from clientscope.records.topics import CONNECTIONS, STATUS

_WAIT_S = 8.0
"""Gateways and the job write every five seconds by default."""

_WARN_MS, _WRONG_MS = 1_000, 10_000


def check_clocks(situation: Situation) -> Iterator[CheckResult]:
    """The difference, if a gateway or the job runs; else what the newest record says."""
    if situation.admin is None or situation.access is None:
        yield not_checked("no broker answers")
        return
    try:
        with closing(TopicReader(situation.access, CLIENT_ID, silence_s=_WAIT_S)) as reader:
            ranges = reader.ranges(STATUS, CONNECTIONS)
            if not ranges:
                yield not_checked(f"{STATUS} and {CONNECTIONS} are missing")
                return
            reader.seek({partition: OffsetRange(max(first, end - 1), end) for partition, (first, end) in ranges.items()})
            ends = {partition: end for partition, (_, end) in ranges.items()}
            yield _compare(reader, ends)
    except (KafkaError, TimeoutError) as error:
        yield not_checked(f"{STATUS} can't be read ({type(error).__name__}): see rights")


def _compare(reader: TopicReader, ends: dict[object, int]) -> CheckResult:
    deadline, newest = time.monotonic() + _WAIT_S, 0
    while (left := deadline - time.monotonic()) > 0:
        for partition, records in reader.poll(min(left, 0.5)).items():
            for record in records:
                if record.offset >= ends[partition]:
                    return judge(int(time.time() * 1000) - record.timestamp)
                newest = max(newest, record.timestamp)
    return bounded(int(time.time() * 1000) - newest if newest else None)


def judge(ahead_ms: int) -> CheckResult:
    """A clock that is ahead of the broker's by so many ms (negative: behind), a record's way to here included."""
    where = "ahead of" if ahead_ms >= 0 else "behind"
    text = f"this machine's clock is {abs(ahead_ms) / 1000:.1f} s {where} the brokers', a record's way to here included"
    remedy = "synchronise both by NTP: ages and times of clients are wrong by as much"
    if abs(ahead_ms) >= _WRONG_MS:
        return problem(text, remedy, "timedatectl status")
    if abs(ahead_ms) >= _WARN_MS:
        return warning(text, remedy, "timedatectl status")
    return ok(text)


def bounded(age_ms: int | None) -> CheckResult:
    """By the newest record's age on this machine's clock, which can't be negative; None if there is no record."""
    if age_ms is not None and age_ms < -_WARN_MS:
        return problem(
            f"this machine's clock is at least {-age_ms / 1000:.1f} s behind the brokers': the newest record is from its future",
            "synchronise both by NTP", "timedatectl status",
        )  # fmt: skip
    since = (
        "there is no record"
        if age_ms is None
        else f"the newest is from {age_ms / 1000:,.0f} s ago by this clock, which may be ahead by as much"
    )
    return not_checked(f"no record arrived within {_WAIT_S:.0f} s; {since}", "start a gateway, then check again")
