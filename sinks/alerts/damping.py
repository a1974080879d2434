"""Flap damping: a flapping finding is delivered a few times, and then once it has been stable for a while."""

from __future__ import annotations

from collections.abc import Sequence

from clientscope.findings.record import Finding
from sinks.alerts.progress import MOST_TIMES
from sinks.alerts.receivers import Damping


def is_damped(times_ms: Sequence[int], damping: Damping, now_ms: int) -> bool:
    """Whether so many notifications were recently sent about a finding that further ones are held back.

    Args:
        times_ms: when it was reported as firing.
    """
    return sum(now_ms - damping.window_ms < at <= now_ms for at in times_ms) >= damping.after


def is_held(finding: Finding, times_ms: Sequence[int], damping: Damping, now_ms: int) -> bool:
    """Whether a finding's next notification must wait."""
    return is_damped(times_ms, damping, now_ms) and now_ms - changed_ms(finding) < damping.quiet_ms


def changed_ms(finding: Finding) -> int:
    """When it last began or ended."""
    return max(finding.opened_ms, finding.ended_ms or 0, finding.alert.at_ms if finding.alert else 0)


def with_time(times_ms: Sequence[int], at_ms: int) -> list[int]:
    """One more, the newest `MOST_TIMES` of them."""
    return [*times_ms, at_ms][-MOST_TIMES:]
