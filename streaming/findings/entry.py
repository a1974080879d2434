"""One finding as the engine keeps it, its life, and its record on ``clientscope.findings``.

Its life is one pure function, `advance`: the entry that it is given stays as it is, and nothing is read but its arguments.

- *open*: connected clients have it, or no newer push is without it.
- *resolved*: newer pushes are without it everywhere and no connected client has had it for `GRACE_MS`.  What is found by
  comparing, and what concerns clientscope's own operation, resolves as soon as it is no longer so.
- *stopped*: the same for a secret, which must still be rotated.  A secret also stops when no connected client has had it for
  `QUIET_MS`.
- *closed*: a person's decision holds.

A notification is asked for when the finding is new, is back after it ended, or gets worse; not while it is suppressed, closed or of low
confidence, nor of settings of clients that came and left before the job's start.  What was there for so short a time that no look saw it
open still asks for one (F46).
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple, cast

from clientscope.bounded import Present
from clientscope.fair_share import HeldEntry, beyond
from clientscope.findings import wording
from clientscope.findings.fingerprints import application_key
from clientscope.model.client import NO_APPLICATION, Application
from clientscope.model.client_key import Tenant, tenant_of
from clientscope.model.decision import Decision
from clientscope.model.fields import SENTENCE_LENGTH, clean
from clientscope.model.finding import (
    MOST_CLIENTS,
    MOST_PLACES,
    MOST_SETTINGS,
    AffectedClient,
    Alert,
    Finding,
    Kind,
    LeakPlace,
    Reach,
    State,
    Suppressed,
    Why,
)
from clientscope.model.setting import Setting, shown_setting
from clientscope.profiles import client_patterns
from clientscope.profiles.owners import Owners
from clientscope.profiles.suppressions import Suppression, suppressing
from clientscope.severities import SEVERITIES
from streaming.findings import ordered
from streaming.findings.clients import LiveClients
from streaming.findings.inputs import NEVER, JudgedPush, LogPosition, SeenAs, There, whereabouts
from streaming.findings.liveness import GRACE_MS
from streaming.findings.ordered import order
from streaming.findings.problems import TEXTS, RuleText
from streaming.limits import Limit

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
    settings = tuple(map(shown_setting, entry.settings[:MOST_SETTINGS]))
    places = _places(entry, holders.places) if entry.kind == "leak" else ()
    place_count = len(entry.places) if entry.kind == "leak" else 0
    standing = entry.standing
    return Finding(
        fingerprint=entry.fingerprint,
        code=entry.code,
        name=text.name,
        kind=entry.kind,
        severity=SEVERITIES[entry.severity],
        risks=text.risks,
        confidence="low" if entry.low_confidence else "high",
        state=state,
        message=clean(wording.message(entry.message, application, settings, places, place_count), SENTENCE_LENGTH),
        sentence=clean(entry.message, SENTENCE_LENGTH),
        use_instead=text.use_instead,
        link=text.link,
        application=application,
        subject=clean(entry.subject),
        settings=settings,
        clients=tuple(clients),
        client_count=holders.number,
        places=places,
        place_count=place_count,
        reach=Reach(redacted_at=tuple(map(clean, entry.redacted_at)), written_to=tuple(entry.written_to)) if entry.kind == "leak" else None,
        first_seen_ms=entry.first_seen_ms,
        last_seen_ms=entry.last_seen_ms,
        opened_ms=standing.opened_ms or entry.first_seen_ms,
        ended_ms=standing.ended_ms or None,
        reopened=standing.reopened,
        evidence=tuple(clean(sentence, SENTENCE_LENGTH) for sentence in entry.evidence),
        owner=owner,
        suppressed=_suppressed(suppression),
        decided=entry.decision if state == "closed" else None,
        alert=standing.alert,
        revision=entry.published.revision + 1 if entry.published else 0,
    )


def restored(record: Finding) -> FindingEntry:
    """The entry that a record was made of, as far as the record says; the clients that have it follow from their pushes."""
    entry = FindingEntry(record.fingerprint, record.code, record.kind, record.confidence == "low", SEVERITIES.index(record.severity))
    entry.message, entry.subject = record.sentence or record.message, record.subject
    entry.said_by = record.last_seen_ms, -1, ""  # pushes of that moment are read once more
    entry.known = {client.key: client for client in record.clients}
    entry.settings = tuple(record.settings)
    ended = record.state in ("resolved", "stopped")
    # Each place keeps its own time: the newest of those with as many clients is the one that the message names.
    seen_ms = {(_key(place.application), place.key): place.last_seen_ms or record.last_seen_ms for place in record.places}
    if record.kind != "operation":
        entry.application = _key(record.application)
        if record.kind == "setting":
            seen_ms = {(entry.application, ""): record.last_seen_ms}
    passed = LogPosition.at(max(record.ended_ms or 0, record.last_seen_ms + 1)) if ended else NEVER
    entry.places = {place: Where(last=LogPosition.at(at_ms), passed=passed) for place, at_ms in seen_ms.items()}
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
    return identity(entry.application) if entry.application else NO_APPLICATION


@lru_cache(maxsize=20_000)
def identity(key: str) -> Application:
    """An application's key, taken apart."""
    principal, client_id, group = (part and clean(part) for part in json.loads(key))
    return Application(principal=principal, client_id=client_id, group=group)


def _key(of: Application) -> str:
    return application_key(of.principal, of.client_id, of.group)


def _client(of: Application, clients: Sequence[AffectedClient]) -> client_patterns.PatternSubject:
    """The subject that patterns are matched with: the first client that the finding names, else its application."""
    if clients:
        return client_patterns.PatternSubject(clients[0].principal, of.group, clients[0].client_id)
    return client_patterns.PatternSubject(of.principal, of.group, of.client_id)


def _places(entry: FindingEntry, counts: Mapping[Place, int]) -> tuple[LeakPlace, ...]:
    order = sorted(entry.places, key=lambda key: (-counts.get(key, 0), -entry.places[key].last.appended_ms, key))
    return tuple(
        LeakPlace(
            application=identity(key[0]), key=clean(key[1]), clients=counts.get(key, 0), last_seen_ms=entry.places[key].last.appended_ms
        )
        for key in order[:MOST_PLACES]
    )


def _suppressed(by: Suppression | None) -> Suppressed | None:
    return Suppressed(reason=by.reason, until=by.until, where=clean(by.where)) if by else None


QUIET_MS = 10 * 60_000
"""A secret that no connected client has any more counts as stopped after this, though no newer push says so."""

_NO_POLICY = Policy()


def advance(
    entry: FindingEntry, holders: Holders, now_ms: int, policy: Policy = _NO_POLICY, alerts: bool = True
) -> tuple[FindingEntry, Finding]:
    """The next state of a finding, and its record.

    Args:
        entry: what is known of it; isn't changed.
        holders: the clients that have it.
        now_ms: ms since the epoch.
        policy: owners and suppressions.
        alerts: whether it may ask for a notification.

    Returns:
        the entry from now on, which shares with the earlier one what hasn't changed, so that one isn't used any more; and its record.
    """
    is_live = holders.number > 0
    quiet_since_ms = _quiet_since_ms(entry, is_live, now_ms)
    advanced = replace(
        entry,
        severity=_worst(entry),
        known=named(entry, holders),
        lately={},
        worst_lately=-1,
        standing=replace(entry.standing, quiet_since_ms=quiet_since_ms),
    )
    state = _state(advanced, is_live, now_ms)
    suppression = policy.suppression(advanced, now_ms)
    if state == "open" or (state == "stopped" and advanced.is_unheard):
        back_ms = advanced.back_ms if advanced.standing.is_open else 0
        notifies = alerts and suppression is None and not advanced.low_confidence
        advanced = replace(advanced, standing=_opened(advanced, notifies, now_ms), back_ms=back_ms)
    if state != "open" and (advanced.standing.is_open or not advanced.standing.ended_ms):
        ended = replace(advanced.standing, is_open=False, ended_ms=_ended_ms(advanced, state, now_ms))
        advanced = replace(advanced, standing=ended)
    return advanced, record_of(advanced, state, holders, suppression, policy.owners)


def _state(entry: FindingEntry, is_live: bool, now_ms: int) -> State:
    if entry.decision is not None and entry.decision.holds(entry.last_seen_ms, now_ms):
        return "closed"
    if entry.kind in ("fleet", "operation"):
        return "open" if entry.present else "resolved"
    since_ms = entry.standing.quiet_since_ms
    quiet_ms = 0 if since_ms is None else now_ms - since_ms
    has_ended = entry.passed or (entry.kind == "leak" and quiet_ms >= QUIET_MS)
    # Who had it may only be connecting anew, as when a gateway restarts: its end would be taken back, with an alert.
    may_be_back = entry.kind == "setting" and entry.standing.is_open and quiet_ms < GRACE_MS
    if is_live or not has_ended or may_be_back:
        return "open"
    return "stopped" if entry.kind == "leak" else "resolved"


def _quiet_since_ms(entry: FindingEntry, is_live: bool, now_ms: int) -> int | None:
    if entry.kind not in ("leak", "setting") or is_live:
        return None
    return now_ms if entry.standing.quiet_since_ms is None else entry.standing.quiet_since_ms


def _worst(entry: FindingEntry) -> int:
    """Of those that have it, or had it since the last look; or as it was then."""
    worst = max(*entry.severities, entry.worst_lately, -1)
    return worst if worst >= 0 else entry.severity


def _opened(entry: FindingEntry, notifies: bool, now_ms: int) -> FindingStanding:
    """The state of an open finding, with an alert if it is new, worse or back."""
    standing = entry.standing
    if not standing.is_open:
        again = standing.ended_ms > 0
        opened_ms = (entry.back_ms or now_ms) if again else entry.first_seen_ms
        reopened = standing.reopened + again
        standing = replace(standing, is_open=True, opened_ms=opened_ms, ended_ms=0, reopened=reopened, worst_alerted=-1)
    if not notifies or entry.severity <= standing.worst_alerted:
        return standing
    why: Why = "worse" if standing.worst_alerted >= 0 else "reopened" if standing.reopened and standing.alert else "new"
    number = standing.alert.number + 1 if standing.alert else 1
    alert = Alert(number=number, why=why, at_ms=entry.last_seen_ms if why == "worse" else standing.opened_ms)
    return replace(standing, alert=alert, worst_alerted=entry.severity)


def _ended_ms(entry: FindingEntry, state: State, now_ms: int) -> int:
    if state == "resolved" and entry.places:
        return max(where.passed.appended_ms for where in entry.places.values())
    return now_ms


Place = tuple[str, str]
"""An application's key, and a setting's."""

MOST_PLACES_KEPT = 1_000
"""Of one leak; the record names a tenth of them."""

PLACES = Limit(
    "places",
    MOST_PLACES_KEPT,
    "places of one secret",
    "of the application that has the most of them some are forgotten",
)

MOST_EVIDENCE = 20
"""Notes on one finding, the newest."""

MOST_REACHED = 50
"""Records, and gateways, that one secret reached: the newest."""


@dataclass
class Where:
    """One place of a finding.

    Attributes:
        clients: those that have it there, each with its severity: an index in ``SEVERITIES``.
        last, passed: the newest push that has it there, and the newest of that application that is without it.
        live: how many of the clients are connected; one that several gateways have seen counts once.
        had: the finding's fingerprint and this place, one object for all clients that have it here.
    """

    clients: dict[str, int] = field(default_factory=dict)
    last: LogPosition = NEVER
    passed: LogPosition = NEVER
    live: int = 0
    had: tuple[str, Place] | None = None
    _seen: Counter[SeenAs] = field(default_factory=Counter)

    @property
    def is_over(self) -> bool:
        """Whether a newer push is without it."""
        return self.passed.is_after(self.last)

    def seen(self, push: JudgedPush) -> None:
        """A push has it there."""
        if push.position.is_after(self.last):
            self.last = push.position

    def passes(self, push: JudgedPush) -> bool:
        """A push is without it; whether that is news."""
        if not push.position.is_after(self.passed):
            return False
        self.passed = push.position
        return True

    def ended(self, at_ms: int) -> None:
        """Nothing is known of the application any more."""
        self.passed = LogPosition.at(max(at_ms, self.last.appended_ms + 1, self.passed.appended_ms))

    def count(self, push: JudgedPush, by: int) -> None:
        """One that has it there is connected (1), or isn't any more (-1)."""
        if push.names is None:
            self.live += by
            return
        before = self._seen.pop(push.names, 0)
        if before + by:
            self._seen[push.names] = before + by
        self.live += bool(before + by) - bool(before)


@dataclass(frozen=True, slots=True)
class FindingStanding:
    """The state of a finding in its life, as of the last `advance`.  Times are ms since the epoch.

    Attributes:
        is_open: whether it is open; a secret that was there again between two looks counts as opened and stopped.
        opened_ms: when it was last opened; 0 before the first time.
        ended_ms: when it then ended; 0 while it is open.
        reopened: how often it came back.
        quiet_since_ms: since when no connected client has it; of leaks and settings.
        alert: the last notification that it asked for; None for none.
        worst_alerted: the worst severity of those since it was last opened; -1 for none.
    """

    is_open: bool = False
    opened_ms: int = 0
    ended_ms: int = 0
    reopened: int = 0
    quiet_since_ms: int | None = None
    alert: Alert | None = None
    worst_alerted: int = -1


@dataclass
class FindingEntry:
    """One finding.

    Attributes:
        severity: an index in ``SEVERITIES``; the worst of those that have it.
        message: what the rule says.
        subject: of our own operation, which part it is about.
        said_by: the newest push that had it, by `streaming.findings.ordered.order`: its message, settings and application are the entry's.
        present: of what is found by comparing, and of our own operation: whether it is so now.
        severities: how many of those that have it have it how badly.
        live: the newest pushes of those that have it and are connected, gone: of the others, in the order of `streaming.findings.ordered`.
        compared: the clients that the comparison was about, by application; newest: the order of the newest push among them.
        standing: its life so far.
        back_ms: when it was there again after it had ended; 0 if it wasn't.
        lately: the newest pushes that had it since it was last looked at, by client; worst_lately: the worst severity among them, or -1.
        known: the clients that its record names, by key.
        tenant: whose room it takes; of what several tenants have, the one with the fewest findings.
        published: its record on the topic, and published_at_ms when it was written.
    """

    fingerprint: str
    code: str
    kind: Kind
    low_confidence: bool = False
    severity: int = 0
    message: str = ""
    subject: str = ""
    said_by: tuple[int, int, str] = (0, -1, "")
    settings: tuple[Setting, ...] = ()
    application: str | None = None
    places: dict[Place, Where] = field(default_factory=dict)
    severities: Present[int] = field(default_factory=Present)
    live: list[JudgedPush] = field(default_factory=list)
    gone: list[JudgedPush] = field(default_factory=list)
    first_seen_ms: int = 0
    last_seen_ms: int = 0
    present: bool = False
    compared: Sequence[LiveClients] = ()
    newest: tuple[int, int, str] = (0, 0, "")
    standing: FindingStanding = FindingStanding()
    back_ms: int = 0
    redacted_at: list[str] = field(default_factory=list)
    written_to: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    decision: Decision | None = None
    published: Finding | None = None
    published_at_ms: int = 0
    tenant: Tenant = ""
    lately: dict[str, JudgedPush] = field(default_factory=dict)
    worst_lately: int = -1
    known: dict[str, AffectedClient] = field(default_factory=dict)

    def make_room(self, place: Place) -> list[HeldEntry]:
        """Makes room before `add`: beyond `MOST_PLACES_KEPT` places, those of the tenant with the most go first; returns those removed."""
        if place in self.places or len(self.places) < MOST_PLACES_KEPT:
            return []
        held = [HeldEntry(key, tenant_of(json.loads(key[0])[0], ""), 0, at.last.appended_ms) for key, at in self.places.items()]
        gone = beyond(held, MOST_PLACES_KEPT)
        for each in gone:
            self._lose(self.places.pop(cast(Place, each.key)))
        return gone

    def add(self, place: Place, push: JudgedPush, severity: int, is_live: bool) -> Where:
        """A client has it, and had it nowhere before."""
        where = self.places.get(place)
        if where is None:
            where = self.places[place] = Where()
        if where.had is None:
            where.had = self.fingerprint, place
        where.clients[push.client] = severity
        if is_live:
            where.count(push, 1)
        self.severities[severity] += 1
        ordered.add(self.live if is_live else self.gone, push)
        return where

    def discard(self, place: Place, push: JudgedPush) -> bool:
        """A client has it no more, has pushed again, or is forgotten; whether it was known to have it."""
        where = self.places.get(place)
        severity = where.clients.pop(push.client, None) if where is not None else None
        if where is None or severity is None:  # the place had to make room
            return False
        self.severities.leave(severity)
        if ordered.discard(self.live, push):
            where.count(push, -1)
        else:
            ordered.discard(self.gone, push)
        return True

    def moved(self, place: Place, push: JudgedPush, is_live: bool) -> bool:
        """A client that has it is connected now, or no more; whether it was known to have it."""
        where = self.places.get(place)
        if where is None or push.client not in where.clients:
            return False
        before, after = (self.gone, self.live) if is_live else (self.live, self.gone)
        if ordered.discard(before, push):
            ordered.add(after, push)
            where.count(push, 1 if is_live else -1)
        return True

    def found_in(self, application: str, keys: Iterable[str]) -> Iterator[Where]:
        """Its places in one application, under these settings."""
        for key in keys:
            if (where := self.places.get((application, key))) is not None:
                yield where

    def _lose(self, where: Where) -> None:
        for severity in where.clients.values():
            self.severities.leave(severity)
        self.live[:] = [push for push in self.live if push.client not in where.clients]
        self.gone[:] = [push for push in self.gone if push.client not in where.clients]

    @property
    def matters(self) -> int:
        """How much it matters that it is kept: its severity; least of all once it has ended."""
        return -1 if self.published is not None and self.published.state in ("resolved", "closed") else self.severity

    @property
    def is_leak(self) -> bool:
        """Whether it is a secret for sure."""
        return self.kind == "leak" and not self.low_confidence

    def seen(self, at_ms: int) -> None:
        """It was there at this time."""
        if not self.standing.is_open and 0 < self.standing.ended_ms < at_ms:
            self.back_ms = min(self.back_ms or at_ms, at_ms)
        self.first_seen_ms = min(self.first_seen_ms or at_ms, at_ms)
        self.last_seen_ms = max(self.last_seen_ms, at_ms)

    def had_by(self, push: JudgedPush, severity: int) -> None:
        """A push has it; perhaps the next one of that client hasn't, before anything is looked at."""
        self.worst_lately = max(self.worst_lately, severity)
        known = self.lately.pop(push.client, None)
        self.lately[push.client] = push if known is None else max(known, push, key=ordered.order)
        if len(self.lately) > MOST_CLIENTS:
            del self.lately[next(iter(self.lately))]

    @property
    def is_unheard(self) -> bool:
        """Whether it was there, however briefly, without a check that opened it."""
        return not self.standing.is_open and (self.back_ms > 0 or not self.standing.opened_ms)

    def reached(self, gateway: str, written_to: str | None) -> None:
        """How far a secret got."""
        known, new = (self.redacted_at, gateway) if written_to is None else (self.written_to, written_to)
        if new not in known:
            known.append(new)
            del known[:-MOST_REACHED]

    def note(self, sentence: str) -> bool:
        """Something else that is known of it; whether that is new."""
        if sentence in self.evidence:
            return False
        self.evidence.append(sentence)
        del self.evidence[:-MOST_EVIDENCE]
        return True

    @property
    def ends_by_itself(self) -> bool:
        """Whether it ends once no connected client has had it for so long, and nothing else has to happen."""
        standing = self.standing
        return standing.is_open and standing.quiet_since_ms is not None and (self.kind == "leak" or self.passed)

    @property
    def passed(self) -> bool:
        """Whether newer pushes are without it everywhere, so that it ends once no connected client has it."""
        return bool(self.places) and all(where.is_over for where in self.places.values())


class Holders(NamedTuple):
    """Those that have it.

    Attributes:
        places: place → how many are connected.
        live: the newest pushes of those that are connected, at most `MOST_CLIENTS`, the newest first.
        gone: the same of those that are remembered and aren't connected.
        has: whether the client of this key is connected and has it.
        left_ms: when a client that is gone closed its last connection; None where that isn't known.
    """

    places: Mapping[Place, int]
    live: Sequence[JudgedPush]
    gone: Sequence[JudgedPush]
    has: Callable[[str], bool]
    left_ms: Callable[[There, JudgedPush | None], int | None]

    @property
    def number(self) -> int:
        """How many are connected; each has it in one place."""
        return sum(self.places.values())


def named(entry: FindingEntry, holders: Holders) -> dict[str, AffectedClient]:
    """At most `MOST_CLIENTS`, by key: the newest of those that are connected, then those that left last.

    Those that the entry knows already stay named though nothing else is known of them any more.
    """
    seen: set[SeenAs] = set()
    clients = {push.client: _known(entry, push, None) for push in _once(holders.live, seen)}
    gone = {push.client: push for push in (*entry.lately.values(), *holders.gone) if not holders.has(push.client)}
    for push in _once(heapq.nlargest(MOST_CLIENTS, gone.values(), key=order), seen):
        clients[push.client] = _known(entry, push, holders.left_ms(push.there, push) or push.appended_ms)
    for key, client in entry.known.items():
        if key not in clients and not holders.has(key):
            if client.disconnected_ms is None:
                left_ms = holders.left_ms(whereabouts(client.cluster, client.principal, client.client_id, client.address), None)
                client = replace(client, disconnected_ms=left_ms or client.pushed_ms)  # noqa: PLW2901
            clients[key] = client
    by_time = sorted(clients.items(), key=lambda item: _left(item[1]))
    return dict(by_time[:MOST_CLIENTS])


def _once(pushes: Iterable[JudgedPush], seen: set[SeenAs]) -> Iterator[JudgedPush]:
    """Of what several gateways have seen of one client, the newest."""
    for push in pushes:
        if (names := push.names) is None or names not in seen:
            if names is not None:
                seen.add(names)
            yield push


def _left(client: AffectedClient) -> tuple[bool, int]:
    """Those that are connected come first, the newest of each first."""
    return client.disconnected_ms is not None, -(client.disconnected_ms or client.pushed_ms)


def _known(entry: FindingEntry, push: JudgedPush, disconnected_ms: int | None) -> AffectedClient:
    """As it was named before, if nothing has changed."""
    known = entry.known.get(push.client)
    same = known is not None and (known.pushed_ms, known.principal) == (push.appended_ms, push.principal)
    if known is not None and same and (known.disconnected_ms is None) == (disconnected_ms is None):
        return known
    return AffectedClient(
        key=clean(push.client),
        client_id=push.client_id and clean(push.client_id),
        instance_id=push.instance_id,
        principal=push.principal and clean(push.principal),
        address=clean(push.address),
        software_name=clean(push.software_name),
        software_version=clean(push.software_version),
        cluster=clean(push.cluster),
        broker=push.broker,
        gateway=clean(push.gateway),
        observed=push.rank > 0,
        pushed_ms=push.appended_ms,
        disconnected_ms=disconnected_ms,
    )
