"""Results of checks: what was looked at, the outcome, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """The outcome of a check, the best first."""

    OK = "ok"
    NOT_CHECKED = "not checked"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class CheckResult:
    """What one check found about one thing. Holds no secret: only names, addresses, paths and numbers.

    Attributes:
        text: what is so; where it wasn't checked, why not.
        remedy: what to do, in a sentence; empty if there is nothing to do.
        command: what can be pasted into a shell for that; empty if there is no such command.
    """

    outcome: Outcome
    text: str
    remedy: str = ""
    command: str = ""


def ok(text: str) -> CheckResult:
    """All is as it should be."""
    return CheckResult(Outcome.OK, text)


def not_checked(why: str, remedy: str = "") -> CheckResult:
    """It is unknown, and why."""
    return CheckResult(Outcome.NOT_CHECKED, why, remedy)


def warning(text: str, remedy: str = "", command: str = "") -> CheckResult:
    """It works, and may not be what is meant."""
    return CheckResult(Outcome.WARNING, text, remedy, command)


def problem(text: str, remedy: str = "", command: str = "") -> CheckResult:
    """It doesn't work."""
    return CheckResult(Outcome.PROBLEM, text, remedy, command)
