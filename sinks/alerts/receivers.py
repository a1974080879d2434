"""Whom to tell, and of what: receivers as values.  `receivers_file` reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Literal

from clientscope.findings.record import Finding
from clientscope.severities import SEVERITIES, Severity
from sinks.alerts.addresses import Network
from sinks.alerts.silences import Match, Silence

Kind = Literal["alertmanager", "webhook", "apprise"]
GroupKey = Literal["code", "severity", "principal", "client_id", "team", "finding"]


@dataclass(frozen=True)
class Damping:
    """What comes and goes is told at most ``after`` times within a window, then only once it has been the same for a while."""

    after: int = 3
    window_ms: int = 3_600_000
    quiet_ms: int = 900_000


@dataclass(frozen=True)
class Receiver:
    """One receiver.

    Attributes:
        urls: HTTP addresses, several for Alertmanager alone; of Apprise, its own.  Secret where they came from a file or the environment.
        headers: sent with each request, secret.
        secrets: keys of the signature (Standard Webhooks), the newest first.
        ca: PEM file that signs its certificate; None takes the system's.
        timeout_s: for one attempt, from name server to answer.
        severity: this or worse.
        group_by, group_wait_ms, group_interval_ms: what goes into one message, how long the first of a group waits for others, and
            how long after it the next message of that group may come.
        max_attempts: of one message, before it is given up.
        resolved: whether it is told of ends too.
    """

    name: str
    kind: Kind
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
