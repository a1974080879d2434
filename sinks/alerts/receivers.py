"""Receivers as values: the findings that each gets, and the definition of a kind of receiver. `receivers_file` reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from clientscope.findings.record import Finding
from clientscope.severities import SEVERITIES, Severity
from sinks.alerts.addresses import Network
from sinks.alerts.silences import Match, Silence

if TYPE_CHECKING:
    from sinks.alerts.message import Texts
    from sinks.alerts.peer import Peer, RepeatedAlerts
    from sinks.alerts.receiver_tables import ReceiverTable, TableReader
    from sinks.alerts.sending import SendResult
    from sinks.alerts.worker import Send

T = TypeVar("T", bound="ReceiverTable")
"""A receiver's table in receivers.toml, as its kind has it."""

Attempted = Callable[[str, "SendResult", int, float], None]
"""Called with each attempt, from the thread that made it: the receiver, the result, a number of its own, and its seconds."""

GroupKey = Literal["code", "severity", "principal", "client_id", "team", "finding"]


@dataclass(frozen=True)
class Damping:
    """Limits for a flapping finding: at most ``after`` notifications within a window, then one once it has been stable for ``quiet_ms``."""

    after: int = 3
    window_ms: int = 3_600_000
    quiet_ms: int = 900_000


@dataclass(frozen=True, slots=True)
class ReceiverKind(Generic[T]):
    """A kind of receiver: its keys in receivers.toml, how it is tested, and how findings reach it, which is one of two ways.

    With a ``sender``, grouping, silences, damping, retries and dead letters are clientscope's, and the receiver gets messages.
    With ``follow``, they are the receiver's own: it is sent the alerts as they are, again and again.

    Attributes:
        name: ``kind`` in receivers.toml.
        how: a paragraph of docs/alerts.md, in Markdown: what is sent, and by which specification.
        table: its keys in receivers.toml, each with its line of docs/alerts.md as ``description``.
        read: from a table to a receiver; raises `clientscope.errors.SettingsError` by `TableReader.error`. It connects to nothing.
        test: sends one address a message that is marked as a test, once. It never raises.
        sender: what sends a receiver's messages: called in the receiver's own thread, an attempt each time, and ends in time.
        follow: the alerts that such a receiver must know, and the threads that send them, not started yet.
        check: raises SettingsError for what only the kind's own library can see; called at the start, and connects to nothing.
        own_silences: of one with silences of its own: what it is, and the command that adds one.
    """

    name: str
    how: str
    table: type[T]
    read: Callable[[TableReader[T]], Receiver]
    test: Callable[[Receiver, str], SendResult]
    sender: Callable[[Receiver, Texts], Send] | None = None
    follow: Callable[[Receiver, Texts, Attempted], tuple[RepeatedAlerts, list[Peer]]] | None = None
    check: Callable[[Receiver], None] = lambda receiver: None
    own_silences: tuple[str, str] | None = None

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Receiver:
    """One receiver.

    Attributes:
        urls: its addresses, as its kind has them; most have one.  Secret where they came from a file or the environment.
        headers: sent with each request, secret.
        secrets: what its kind signs or authenticates with, the newest first.
        ca: PEM file that signs its certificate; None takes the system's.
        timeout_s: for one attempt, from name server to answer.
        severity: this or worse.
        group_by, group_wait_ms, group_interval_ms: what goes into one message, how long the first of a group waits for others, and
            how long after it the next message of that group may come.
        max_attempts: of one message, before it is given up.
        resolved: whether it also gets a message when a finding ends.
    """

    name: str
    kind: ReceiverKind[Any]
    urls: tuple[str, ...] = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    secrets: tuple[bytes, ...] = field(default=(), repr=False)
    allow_networks: tuple[Network, ...] = ()
    ca: Path | None = None
    timeout_s: float = 10.0
    severity: Severity = "info"
    match: Match = field(default_factory=Match)
    group_by: tuple[GroupKey, ...] = ("code", "severity")
    group_wait_ms: int = 10_000
    group_interval_ms: int = 300_000
    max_attempts: int = 20
    resolved: bool = True
    zone: tzinfo = UTC
    damping: Damping = field(default_factory=Damping)

    def wants(self, finding: Finding) -> bool:
        """Whether a finding is routed to it."""
        return SEVERITIES.index(finding.severity) >= SEVERITIES.index(self.severity) and self.match.fits(finding)

    def group(self, finding: Finding) -> tuple[str, ...]:
        """What it shares with others of its group."""
        application = finding.application
        values: dict[GroupKey, str | None] = {
            "code": finding.code,
            "severity": finding.severity,
            "principal": application.principal,
            "client_id": application.client_id,
            "team": finding.owner.team if finding.owner else None,
            "finding": finding.fingerprint,
        }
        return tuple(values[key] or "" for key in self.group_by)


@dataclass(frozen=True)
class Receivers:
    """All of them, and when they are left in peace."""

    every: tuple[Receiver, ...] = ()
    silences: tuple[Silence, ...] = ()
