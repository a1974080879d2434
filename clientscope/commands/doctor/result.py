"""What a check returns, and what it knows: the settings of all processes, and what earlier checks found out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from clientscope.cluster.software import BrokerDetails
from clientscope.config import GatewaySettings, KafkaSettings, PageSettings, ServeSettings, StreamSettings
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import AdminClient


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


CLIENT_ID = "clientscope-doctor"


@dataclass
class Situation:
    """What is checked. Checks run one after the other, and fill in what others need.

    Attributes:
        gateway, stream, serve, page: settings of those processes; None if they are invalid.
        gateway_address: of ``--gateway``; empty if it isn't given.
        process: the one whose rights are checked; empty for all.
        timeout_s: how long one address, or one broker, has for an answer.
        access: None if the settings of Kafka can't be used, or one of their files can't.
        admin: None if no broker answers.
        brokers: those that were found.
    """

    kafka: KafkaSettings
    gateway: GatewaySettings | None
    stream: StreamSettings | None
    serve: ServeSettings | None
    page: PageSettings | None
    gateway_address: str = ""
    process: str = ""
    timeout_s: float = 5.0
    access: KafkaAccess | None = None
    admin: AdminClient | None = None
    brokers: Sequence[BrokerDetails] = ()
