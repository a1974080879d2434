"""From an entry to the record that is told of it, and back at the next start."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from clientscope.findings import wording
from clientscope.findings.record import (
    MOST_PLACES,
    Alert,
    Application,
    Client,
    Decided,
    Finding,
    Owner,
    Place,
    Reach,
    Suppressed,
    Why,
)
from clientscope.profiles import whom
from clientscope.profiles.owners import Owners
from clientscope.profiles.suppressions import Suppression, suppressing
from clientscope.records.client_key import tenant_of
from clientscope.severities import SEVERITIES
from clientscope.topic_values import Setting
from sinks.findings.arrived import Push
from sinks.findings.entry import Entry, Where
from sinks.findings.named import Holders, named, record_key
from sinks.findings.problems import TEXTS, RuleText

_UNKNOWN = RuleText("", "", "")


@dataclass(frozen=True)
class Policy:
    """What people said beforehand: whose it is, and what nobody is to be told."""

    owners: Owners = field(default_factory=Owners)
    suppressions: tuple[Suppression, ...] = ()


def finding(entry: Entry, holders: Holders, policy: Policy, now_ms: int) -> Finding:
    """The record of an entry as it is now; notes in the entry when it was opened, and whom that has to tell."""
    live = {push.client: push for pushes in holders.live.values() for push in pushes}
    state = entry.state(len(live), now_ms)
    severity = _worst(entry)
    before = entry.told
    text = TEXTS.get(entry.code, _UNKNOWN)
    clients = named(entry, holders, live)
    application = identity(entry.application) if entry.application else Application()
    client = _client(application, clients)
    suppression = suppressing(policy.suppressions, entry.code, client, datetime.fromtimestamp(now_ms / 1000, UTC).date())
    if state == "open" or (state == "stopped" and entry.is_unheard):
        _open(entry, severity, suppression is None and not entry.low_confidence, now_ms)
    if state != "open" and (entry.is_open or not entry.ended_ms):
        entry.is_open = False
        entry.ended_ms = _passed_ms(entry) if state == "resolved" and entry.places else now_ms
    owner = policy.owners.of(client)
    settings = [Setting.model_validate(setting) for setting in entry.settings]
    places = _places(entry, holders.live) if entry.kind == "leak" else []
    place_count = len(entry.places) if entry.kind == "leak" else 0
    return Finding(
        fingerprint=entry.fingerprint,
        code=entry.code,
        name=text.name,
        kind=entry.kind,
        severity=SEVERITIES[severity],
        confidence="low" if entry.low_confidence else "high",
        state=state,
        message=wording.message(entry.message, application, settings, places, place_count),
        sentence=entry.message,
        use_instead=text.use_instead,
        link=text.link,
        application=application,
        settings=settings,
        clients=clients,
        client_count=len(live),
        places=places,
        place_count=place_count,
        reach=Reach(redacted_at=entry.redacted_at, written_to=entry.written_to) if entry.kind == "leak" else None,
        first_seen_ms=entry.first_seen_ms,
        last_seen_ms=entry.last_seen_ms,
        opened_ms=entry.opened_ms or entry.first_seen_ms,
        ended_ms=entry.ended_ms or None,
        reopened=entry.reopened,
        evidence=list(entry.evidence),
        owner=Owner(team=owner.team, contact=owner.contact) if owner else None,
        suppressed=_suppressed(suppression),
        decided=_decided(entry) if state == "closed" else None,
        alert=entry.alert,
        revision=before.revision + 1 if before else 0,
    )


def restored(told: Finding) -> Entry:
    """The entry that a record was made of, as far as the record says; who has it, pushes say once more."""
    entry = Entry(told.fingerprint, told.code, told.kind, told.confidence == "low", SEVERITIES.index(told.severity))
    entry.message = told.sentence or told.message
    entry.known = {record_key(client): client for client in told.clients}
    entry.settings = tuple(setting.model_dump(exclude_none=True) for setting in told.settings)
    ended = told.state in ("resolved", "stopped")
    keys = [(key_of(place.application), place.key) for place in told.places]
    if told.kind in ("setting", "fleet") or (told.kind == "leak" and not keys):
        entry.application = key_of(told.application)
        keys = [(entry.application, "")] if told.kind == "setting" else keys
    elif keys:
        entry.application = key_of(told.application)
    entry.places = {
        key: Where(last_seen_ms=told.last_seen_ms, passed_ms=max(told.ended_ms or 0, told.last_seen_ms + 1) if ended else 0) for key in keys
    }
    entry.first_seen_ms, entry.last_seen_ms, entry.opened_ms = told.first_seen_ms, told.last_seen_ms, told.opened_ms
    entry.ended_ms, entry.reopened, entry.alert = told.ended_ms or 0, told.reopened, told.alert
    entry.present = entry.is_open = told.state == "open"
    entry.worst_told = SEVERITIES.index(told.severity) if told.alert and told.state == "open" else -1
    entry.evidence = list(told.evidence)
    if told.reach:
        entry.redacted_at, entry.written_to = list(told.reach.redacted_at), list(told.reach.written_to)
    entry.told = told
    entry.tenant = tenant_of(told.application.principal, told.clients[0].address if told.clients else "")
    return entry


def identity(key: str) -> Application:
    """An application's key, taken apart."""
    principal, client_id, group = json.loads(key)
    return Application(principal=principal, client_id=client_id, group=group)


def key_of(application: Application) -> str:
    """The key again."""
    return json.dumps([application.principal, application.client_id, application.group], ensure_ascii=False, separators=(",", ":"))


def _open(entry: Entry, severity: int, told: bool, now_ms: int) -> None:
    """Notes that it is open, and whether somebody has to be told: when it is new, worse or back."""
    if not entry.is_open:
        again = entry.ended_ms > 0
        entry.reopened += again
        entry.opened_ms = (entry.back_ms or now_ms) if again else entry.first_seen_ms
        entry.is_open, entry.ended_ms, entry.back_ms, entry.worst_told = True, 0, 0, -1
    if not told or severity <= entry.worst_told:
        return
    why: Why = "worse" if entry.worst_told >= 0 else "reopened" if entry.reopened and entry.alert else "new"
    entry.alert = Alert(
        number=entry.alert.number + 1 if entry.alert else 1, why=why, at_ms=entry.last_seen_ms if why == "worse" else entry.opened_ms
    )
    entry.worst_told = severity


def _worst(entry: Entry) -> int:
    """Of those that have it, or had it since it was last looked at; or as it was then."""
    severities = [severity for where in entry.places.values() for severity in where.clients.values()]
    worst = max([*severities, entry.worst_lately])
    entry.worst_lately = -1
    if worst >= 0:
        entry.severity = worst
    return entry.severity


def _passed_ms(entry: Entry) -> int:
    return max((where.passed_ms for where in entry.places.values()), default=0)


def _client(of: Application, clients: Sequence[Client]) -> whom.Client:
    """Whom patterns are asked about: the first client that is named, in full; else its application."""
    if clients:
        return whom.Client(clients[0].principal, of.group, clients[0].client_id)
    return whom.Client(of.principal, of.group, of.client_id)


def _places(entry: Entry, live: Mapping[tuple[str, str], Iterable[Push]]) -> list[Place]:
    counts = {key: len(list(pushes)) for key, pushes in live.items()}
    order = sorted(entry.places, key=lambda key: (-counts.get(key, 0), -entry.places[key].last_seen_ms, key))
    return [
        Place(application=identity(key[0]), key=key[1], clients=counts.get(key, 0), last_seen_ms=entry.places[key].last_seen_ms)
        for key in order[:MOST_PLACES]
    ]


def _decided(entry: Entry) -> Decided | None:
    made = entry.decision
    if made is None:
        return None
    return Decided(resolution=made.resolution, by=made.by, why=made.why, at_ms=made.at_ms, until=made.until)


def _suppressed(by: Suppression | None) -> Suppressed | None:
    return Suppressed(reason=by.reason, until=by.until, where=by.where) if by else None
