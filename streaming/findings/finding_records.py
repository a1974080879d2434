"""Conversion of an entry to its record, and back at the next start."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

from clientscope.findings import wording
from clientscope.findings.record import (
    MOST_PLACES,
    Application,
    Client,
    Decided,
    Finding,
    FindingOwner,
    LeakPlace,
    Reach,
    State,
    Suppressed,
)
from clientscope.profiles import client_patterns
from clientscope.profiles.owners import Owners
from clientscope.profiles.suppressions import Suppression, suppressing
from clientscope.records.client_key import tenant_of
from clientscope.severities import SEVERITIES
from clientscope.topic_values import Setting
from streaming.findings.entry import FindingEntry, FindingStanding, Where
from streaming.findings.entry import Place as EntryPlace
from streaming.findings.named_clients import Holders
from streaming.findings.problems import TEXTS, RuleText

_UNKNOWN = RuleText("", "", "")


@dataclass(frozen=True)
class Policy:
    """The user's configuration for findings: owners, and suppressions."""

    owners: Owners = field(default_factory=Owners)
    suppressions: tuple[Suppression, ...] = ()

    def suppression(self, entry: FindingEntry, now_ms: int) -> Suppression | None:
        """The one that keeps notifications of an entry back on this day (UTC)."""
        client = _client(application_of(entry), list(entry.known.values()))
        return suppressing(self.suppressions, entry.code, client, datetime.fromtimestamp(now_ms / 1000, UTC).date())


def record_of(entry: FindingEntry, state: State, holders: Holders, suppression: Suppression | None, owners: Owners) -> Finding:
    """The record of an entry as it is now.

    Args:
        holders: the clients that have it.
        suppression: what keeps its notifications back.
    """
    text = TEXTS.get(entry.code, _UNKNOWN)
    application = application_of(entry)
    clients = list(entry.known.values())
    owner = owners.of(_client(application, clients))
    settings = [Setting.model_validate(setting) for setting in entry.settings]
    places = _places(entry, holders.places) if entry.kind == "leak" else []
    place_count = len(entry.places) if entry.kind == "leak" else 0
    standing = entry.standing
    return Finding(
        fingerprint=entry.fingerprint,
        code=entry.code,
        name=text.name,
        kind=entry.kind,
        severity=SEVERITIES[entry.severity],
        risks=list(text.risks),
        confidence="low" if entry.low_confidence else "high",
        state=state,
        message=wording.message(entry.message, application, settings, places, place_count),
        sentence=entry.message,
        use_instead=text.use_instead,
        link=text.link,
        application=application,
        subject=entry.subject,
        settings=settings,
        clients=clients,
        client_count=holders.number,
        places=places,
        place_count=place_count,
        reach=Reach(redacted_at=entry.redacted_at, written_to=entry.written_to) if entry.kind == "leak" else None,
        first_seen_ms=entry.first_seen_ms,
        last_seen_ms=entry.last_seen_ms,
        opened_ms=standing.opened_ms or entry.first_seen_ms,
        ended_ms=standing.ended_ms or None,
        reopened=standing.reopened,
        evidence=list(entry.evidence),
        owner=FindingOwner(team=owner.team, contact=owner.contact) if owner else None,
        suppressed=_suppressed(suppression),
        decided=_decided(entry) if state == "closed" else None,
        alert=standing.alert,
        revision=entry.published.revision + 1 if entry.published else 0,
    )


def restored(record: Finding) -> FindingEntry:
    """The entry that a record was made of, as far as the record says; the clients that have it follow from their pushes."""
    entry = FindingEntry(record.fingerprint, record.code, record.kind, record.confidence == "low", SEVERITIES.index(record.severity))
    entry.message, entry.subject = record.sentence or record.message, record.subject
    entry.said_by = record.last_seen_ms, -1, ""  # pushes of that moment are read once more
    entry.known = {client.key: client for client in record.clients}
    entry.settings = tuple(setting.model_dump(exclude_none=True) for setting in record.settings)
    ended = record.state in ("resolved", "stopped")
    # Each place keeps its own time: the newest of those with as many clients is the one that the message names.
    seen_ms = {(key_of(place.application), place.key): place.last_seen_ms or record.last_seen_ms for place in record.places}
    if record.kind != "operation":
        entry.application = key_of(record.application)
        if record.kind == "setting":
            seen_ms = {(entry.application, ""): record.last_seen_ms}
    passed_ms = max(record.ended_ms or 0, record.last_seen_ms + 1) if ended else 0
    entry.places = {place: Where(last_seen_ms=at_ms, passed_ms=passed_ms) for place, at_ms in seen_ms.items()}
    entry.first_seen_ms, entry.last_seen_ms = record.first_seen_ms, record.last_seen_ms
    entry.present = record.state == "open"
    is_alerted = record.state == "open" and record.alert is not None and record.alert.at_ms >= record.opened_ms
    entry.standing = FindingStanding(
        is_open=record.state == "open",
        opened_ms=record.opened_ms,
        ended_ms=record.ended_ms or 0,
        reopened=record.reopened,
        alert=record.alert,
        worst_alerted=SEVERITIES.index(record.severity) if is_alerted else -1,
    )
    entry.evidence = list(record.evidence)
    if record.reach:
        entry.redacted_at, entry.written_to = list(record.reach.redacted_at), list(record.reach.written_to)
    entry.published = record
    entry.tenant = tenant_of(record.application.principal, record.clients[0].address if record.clients else "")
    return entry


def application_of(entry: FindingEntry) -> Application:
    """Whose it is; empty of what concerns no application."""
    return identity(entry.application) if entry.application else Application()


@lru_cache(maxsize=20_000)
def identity(key: str) -> Application:
    """An application's key, taken apart."""
    principal, client_id, group = json.loads(key)
    return Application(principal=principal, client_id=client_id, group=group)


def key_of(application: Application) -> str:
    """The key again."""
    return json.dumps([application.principal, application.client_id, application.group], ensure_ascii=False, separators=(",", ":"))


def _client(of: Application, clients: Sequence[Client]) -> client_patterns.PatternSubject:
    """The subject that patterns are matched with: the first client that the finding names, else its application."""
    if clients:
        return client_patterns.PatternSubject(clients[0].principal, of.group, clients[0].client_id)
    return client_patterns.PatternSubject(of.principal, of.group, of.client_id)


def _places(entry: FindingEntry, counts: Mapping[EntryPlace, int]) -> list[LeakPlace]:
    order = sorted(entry.places, key=lambda key: (-counts.get(key, 0), -entry.places[key].last_seen_ms, key))
    # A place's time may be later than any push's, to be after a push of an earlier offset.
    seen_ms = {key: min(entry.places[key].last_seen_ms, entry.last_seen_ms) for key in order[:MOST_PLACES]}
    return [
        LeakPlace(application=identity(key[0]), key=key[1], clients=counts.get(key, 0), last_seen_ms=seen_ms[key])
        for key in order[:MOST_PLACES]
    ]


def _decided(entry: FindingEntry) -> Decided | None:
    made = entry.decision
    if made is None:
        return None
    return Decided(resolution=made.resolution, by=made.by, why=made.why, at_ms=made.at_ms, until=made.until)


def _suppressed(by: Suppression | None) -> Suppressed | None:
    return Suppressed(reason=by.reason, until=by.until, where=by.where) if by else None
