"""Records of ``clientscope.findings``: one per fingerprint, the newest counts."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from clientscope.model.decision import Resolution
from clientscope.model.values import Count, Ms, Name, Sentence, ShownSetting, TopicValue, Value
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

MOST_PLACES = 100
"""Places of a leak that are named; the others are counted."""


class Application(Value):
    """Whose it is: `clientscope.findings.fingerprints.application_key`, taken apart.  All None of what concerns no application."""

    principal: Name | None = None
    client_id: Name | None = None
    group: Name | None = None


class Client(Value):
    """One client that has it, or had it, as it pushed it last; ``client_id`` in full.

    Attributes:
        key: of its record in ``clientscope.configs``.
        observed: whether it has pushed nothing, but was seen; pushed_ms is when its record was written then.
        disconnected_ms: when its last connection closed, as far as that is known, or else when it pushed; None: it is connected.
    """

    key: Name = ""
    client_id: Name | None = None
    instance_id: Name | None = None
    principal: Name | None = None
    address: Name = ""
    software_name: Name = ""
    software_version: Name = ""
    cluster: Name = ""
    broker: int = -1
    gateway: Name = ""
    observed: bool = False
    pushed_ms: Ms = 0
    disconnected_ms: Ms | None = None


class LeakPlace(Value):
    """A place of a secret: the application that pushes it, the key, and the number of clients."""

    application: Application = Application()
    key: Name = ""
    clients: Count = 0
    last_seen_ms: Ms = 0


class Reach(Value):
    """How far a secret got.

    Attributes:
        redacted_at: the gateways that redacted it.
        written_to: its place on a clientscope topic, because somebody wrote a record around the gateway:
            ``topic-partition@offset``; until the same client's next push, or 30 days after it was last seen, when compaction takes it away.
    """

    redacted_at: Annotated[list[Name], Field(max_length=1_000, default_factory=list)]
    written_to: Annotated[list[Name], Field(max_length=1_000, default_factory=list)]


class Alert(Value):
    """The last notification that was due.  None is due while the finding is suppressed, closed or of low confidence.

    Attributes:
        number: counts up with each; (fingerprint, number) is the same however often the record is written again.
        why: ``new``, ``worse`` (its severity rose) or ``reopened``.
    """

    number: Count
    why: Why
    at_ms: Ms


class FindingOwner(Value):
    """The team and the contact to notify, by ``owners.toml``."""

    team: Name
    contact: Name


class Suppressed(Value):
    """Why no notification is sent: a suppression of the rules file."""

    reason: Sentence
    until: date
    where: Name


class Decided(Value):
    """The decision that closed it."""

    resolution: Resolution
    by: Name
    why: Sentence
    at_ms: Ms
    until: date | None = None


class Finding(TopicValue):
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
        alert: None if no notification was due yet.
        revision: counts the records written of it.
    """

    fingerprint: Name
    code: Name
    name: Name
    kind: Kind
    severity: Severity
    risks: Annotated[list[Risk], Field(max_length=len(RISKS), default_factory=list)]
    confidence: Literal["high", "low"] = "high"
    state: State
    message: Sentence
    sentence: Sentence = ""
    use_instead: Sentence = ""
    link: Name = ""
    application: Application = Application()
    subject: Name = ""
    settings: Annotated[list[ShownSetting], Field(max_length=1_000, default_factory=list)]
    clients: Annotated[list[Client], Field(max_length=MOST_CLIENTS, default_factory=list)]
    client_count: Count = 0
    places: Annotated[list[LeakPlace], Field(max_length=MOST_PLACES, default_factory=list)]
    place_count: Count = 0
    reach: Reach | None = None
    first_seen_ms: Ms
    last_seen_ms: Ms
    opened_ms: Ms
    ended_ms: Ms | None = None
    reopened: Count = 0
    evidence: Annotated[list[Sentence], Field(max_length=100, default_factory=list)]
    owner: FindingOwner | None = None
    suppressed: Suppressed | None = None
    decided: Decided | None = None
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
