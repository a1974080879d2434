"""Records of ``clientscope.findings``: one per fingerprint, the newest counts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from clientscope.model.client import NO_APPLICATION, Application, Client
from clientscope.model.decision import Decision
from clientscope.model.fields import Count, Sentence, ShownMs, ShownName, Version, record
from clientscope.model.setting import ShownSetting
from clientscope.risks import RISKS, Risk
from clientscope.severities import SEVERITIES, Severity

State = Literal["open", "stopped", "resolved", "closed"]
"""What is to be done about it.

- ``open``: a person should act.
- ``stopped``: a secret is no longer pushed; it must still be rotated, and then closed by a person.
- ``resolved``: it is gone by itself.
- ``closed``: a person decided so (`clientscope.model.decision`).
"""

TO_DO: tuple[State, ...] = ("open", "stopped")
"""States in which a person has to act."""

_IN_ORDER: tuple[State, ...] = (*TO_DO, "closed", "resolved")

Kind = Literal["setting", "leak", "fleet", "operation"]
"""What it is about: one application's settings, a secret, how an application compares to the fleet or to itself earlier, our own parts."""

Why = Literal["new", "worse", "reopened"]
"""Why a notification is due."""

MOST_CLIENTS = 10
"""Clients that a finding names; the others are counted."""

MOST_SETTINGS = 1_000
"""Settings that a finding names."""

MOST_PLACES = 100
"""Places of a leak that are named; the others are counted."""


@record
class AffectedClient(Client):
    """One client that has it, or had it, as it pushed it last.

    Attributes:
        observed: whether it has pushed nothing, but was seen; pushed_ms is when its record was written then.
        disconnected_ms: when its last connection closed, as far as that is known, or else when it pushed; None: it is connected.
    """

    observed: bool = False
    pushed_ms: ShownMs = 0
    disconnected_ms: ShownMs | None = None


@record
class LeakPlace:
    """A place of a secret: the application that pushes it, the key, and the number of clients."""

    application: Application = NO_APPLICATION
    key: ShownName = ""
    clients: Count = 0
    last_seen_ms: ShownMs = 0


@record
class Reach:
    """How far a secret got.

    Attributes:
        redacted_at: the gateways that redacted it.
        written_to: its place on a clientscope topic, because somebody wrote a record around the gateway:
            ``topic-partition@offset``; until the same client's next push, or 30 days after it was last seen, when compaction takes it away.
    """

    redacted_at: Annotated[tuple[ShownName, ...], Field(max_length=1_000)] = ()
    written_to: Annotated[tuple[ShownName, ...], Field(max_length=1_000)] = ()


@record
class Alert:
    """The last notification that was due.  None is due while the finding is suppressed, closed or of low confidence.

    Attributes:
        number: counts up with each; (fingerprint, number) is the same however often the record is written again.
        why: ``new``, ``worse`` (its severity rose) or ``reopened``.
    """

    number: Count
    why: Why
    at_ms: ShownMs


@dataclass(frozen=True, slots=True)
class Owner:
    """The team that a client or an application belongs to, by ``owners.toml``.

    Attributes:
        contact: how to reach it: any text, such as a channel, an address or a rota.
    """

    team: ShownName
    contact: ShownName

    def __str__(self) -> str:
        return f"{self.team} ({self.contact})"


@record
class Suppressed:
    """Why no notification is sent: a suppression of the rules file."""

    reason: Sentence
    until: date
    where: ShownName


@record
class Finding:
    """One problem of one application, or one leaked secret.  Times are ms since the epoch; times of pushes are Kafka's.

    Attributes:
        code, name: the rule's.
        confidence: ``low`` if it only looks like one; such findings are listed separately and send no alert.
        message: whose it is, which settings it is about, and what to do: no two findings say the same.
        sentence: what the rule says, of which the message is made; empty of what isn't about an application.
        use_instead: the rule's advice; link: where a person reads on.
        subject: of what concerns no application, which part of clientscope or which topic it is about; empty otherwise.
        settings: those that decided, with their effective values, a secret's never.
        clients: the newest that have it, then those that had it last, at most `MOST_CLIENTS`; ``client_count`` are live and have it now.
        places: of a leak; at most `MOST_PLACES`, of ``place_count``.
        first_seen_ms, last_seen_ms: pushes that had it.
        opened_ms: when it was last opened; ended_ms: when it then ended; None while it is open.
        reopened: how often it came back.
        evidence: sentences about what else is known (a digest that changed, say), oldest first.
        decided: the decision that closed it.
        alert: None if no notification was due yet.
        revision: counts the records written of it.
    """

    version: Version = 1
    fingerprint: ShownName
    code: ShownName
    name: ShownName
    kind: Kind
    severity: Severity
    risks: Annotated[tuple[Risk, ...], Field(max_length=len(RISKS))] = ()
    confidence: Literal["high", "low"] = "high"
    state: State
    message: Sentence
    sentence: Sentence = ""
    use_instead: Sentence = ""
    link: ShownName = ""
    application: Application = NO_APPLICATION
    subject: ShownName = ""
    settings: Annotated[tuple[ShownSetting, ...], Field(max_length=MOST_SETTINGS)] = ()
    clients: Annotated[tuple[AffectedClient, ...], Field(max_length=MOST_CLIENTS)] = ()
    client_count: Count = 0
    places: Annotated[tuple[LeakPlace, ...], Field(max_length=MOST_PLACES)] = ()
    place_count: Count = 0
    reach: Reach | None = None
    first_seen_ms: ShownMs
    last_seen_ms: ShownMs
    opened_ms: ShownMs
    ended_ms: ShownMs | None = None
    reopened: Count = 0
    evidence: Annotated[tuple[Sentence, ...], Field(max_length=100)] = ()
    owner: Owner | None = None
    suppressed: Suppressed | None = None
    decided: Decision | None = None
    alert: Alert | None = None
    revision: Count = 0

    @property
    def is_firing(self) -> bool:
        """Whether receivers of alerts should know it as open; a stopped leak is, since it must still be rotated."""
        return self.alert is not None and self.confidence == "high" and self.suppressed is None and self.state in TO_DO

    @property
    def urgency(self) -> tuple[int, int, int, int, int, str]:
        """What to fix first sorts first: what is sure, then what is open, then severity, how many clients, since when."""
        sure = 0 if self.confidence == "high" else 1
        return sure, _IN_ORDER.index(self.state), -SEVERITIES.index(self.severity), -self.client_count, self.first_seen_ms, self.fingerprint
