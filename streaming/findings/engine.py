"""Findings, over time and across the fleet: from pushes and connections to the records of ``clientscope.findings``.

The driver keeps what each client last pushed and which connections are open, and no other state. At its start the job reads both again:
connections from `CONNECTIONS_BACK_MS` ago, within which a gateway lists every open connection, then the result of each client's push.
What these don't contain (since when, how often, when a notification was due) is kept in the findings' own records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clientscope.findings.conditions import Condition, Conditions, gateway_subject
from clientscope.findings.fingerprints import fingerprint
from clientscope.model.decision import Decision
from clientscope.model.enums import Kind
from clientscope.model.input import InputRecord
from clientscope.model.result import PushResult
from clientscope.model.topics import CONFIGS, FINDINGS
from clientscope.profiles import Thresholds
from streaming.findings.book import Book, Changes
from streaming.findings.clients import MOST_CLIENTS, PushedClients
from streaming.findings.comparisons import Comparisons
from streaming.findings.entry import FindingEntry, Policy
from streaming.findings.fact_reports import FactReports
from streaming.findings.inputs import AppendTimes, EngineInput, Erased, JudgedPush, LogPosition, judged_push
from streaming.findings.liveness import CONNECTIONS_PER_CLIENT, Liveness
from streaming.findings.retention import Kept
from streaming.limits import Limit, Overflow, PassedOver
from udfs.rules.engine.pushed_config import MOST_SEARCHED

__all__ = ["CONNECTIONS_BACK_MS", "FindingsEngine"]

CONNECTIONS_BACK_MS = 7 * 60 * 60_000
"""An open connection is recorded again every six hours."""

SEARCHED_NAMES = Limit(
    "searched_names",
    MOST_SEARCHED,
    "unknown names of settings in a batch",
    "the names that may be meant by others aren't looked for, so CF101 can't judge their pushes; clients with the most go without",
    "medium",
    does="looks up",
)
_FORGET_EVERY_MS = 5 * 60_000
_EVER = 2**63


class FindingsEngine:
    """What is known, and what follows from it.  Without I/O; times are ms since the epoch.

    Args:
        published: the newest values of ``clientscope.findings`` by key.
        conditions: problems that other parts of the job report.
        kept: whose records are on ``clientscope.configs``.
        reports: what clients say in their own metrics.
        most_clients: that are remembered.

    Attributes:
        clients: the clients that have pushed, with their pushes.
        book: the findings that follow from them.
        passed_over: the records that it failed at.
    """

    def __init__(
        self,
        published: Mapping[str, bytes],
        policy: Policy,
        thresholds: Thresholds,
        conditions: Conditions,
        kept: Kept | None = None,
        reports: FactReports | None = None,
        most_clients: int = MOST_CLIENTS,
    ) -> None:
        self.kept = Kept() if kept is None else kept  # an empty one is false
        self._ending: dict[str, int] = {}
        self._erased: dict[str, int] = {}
        self._is_catching_up = True
        self._tombstones: dict[str, LogPosition] = {}
        self._times, self._times_ahead = AppendTimes(), AppendTimes()
        self._liveness = Liveness(CONNECTIONS_PER_CLIENT * most_clients)
        self.clients = PushedClients(self._liveness, most_clients)
        self.book = Book(self.clients, policy, published)
        self.book.failed = self._finding_failed
        self._unsearched = Overflow(SEARCHED_NAMES)
        self._conditions = conditions
        self.passed_over = PassedOver("the engine of findings", conditions)
        self._comparisons = Comparisons(self.clients, self.book, thresholds, FactReports() if reports is None else reports)
        self._forgot_ms = self._newest_ms = 0

    def apply(self, inputs: Iterable[EngineInput], overtake: bool = False) -> None:
        """Takes in what a batch has; repeated and late records do no harm, and one that can't be taken in is passed over.

        Args:
            inputs: of ``clientscope.results`` and ``clientscope.inputs``.
            overtake: whether they come from behind what is still to be read of what there was at the start.
        """
        for ordered_ms, each in (self._times_ahead if overtake else self._times).in_order(inputs):
            self._newest_ms = max(self._newest_ms, each.appended_ms)
            try:
                self._apply(each, ordered_ms)
            except Exception as error:
                self._record_failed(each.topic, _position(each), error)

    def decided(self, decisions: Mapping[str, Decision | None]) -> None:
        """Takes in what people have decided, by fingerprint; None takes a decision back."""
        for which, decision in decisions.items():
            self.book.decided(which, decision)

    def changes(self, now_ms: int) -> Changes:
        """What to write, once all has been read that there was at the start; `written` says that it was."""
        if self._is_catching_up:
            self._caught_up()
        self._report()
        for overflow in self.limits:
            if (full := overflow.condition(now_ms)) is not None:
                self._condition(full)
        self._erase()
        self.clients.presence.at(now_ms)
        try:
            self._comparisons.at(now_ms)
        except Exception as error:
            self.passed_over.add(FINDINGS, "A comparison of all clients", error, now_ms)
        if abs(now_ms - self._forgot_ms) >= _FORGET_EVERY_MS:  # a clock may have been set back
            self._forgot_ms = now_ms
            since_ms = self._newest_ms - _FORGET_EVERY_MS
            self._tombstones = {key: at for key, at in self._tombstones.items() if at.appended_ms > since_ms}
            self._liveness.forget(now_ms)
            self.clients.presence.heard()
            self.book.forgotten(*self.clients.forget(now_ms), now_ms)
        return self.book.changes(now_ms)

    def early(self, now_ms: int) -> Changes:
        """Changes to write before everything from the start has been read; `written` confirms them.

        A secret without a record on the topic is new, and what is wrong with the job is so, whatever else is still to be read. Everything
        else may end with the next record; so may a gateway's loss.
        """
        self._report(without="OP001")
        self.clients.presence.at(now_ms)
        return self.book.early(now_ms)

    def written(self, changes: Changes, now_ms: int) -> None:
        """Notes that these changes are on the topic."""
        self.book.written(changes, now_ms)

    def over(self, now_ms: int) -> list[str]:
        """Keys of ``clientscope.configs`` whose clients' time is over, once all has been read that there was at the start."""
        return self.kept.due(now_ms, self.clients.is_live)

    def ended(self, keys: Iterable[str], now_ms: int) -> None:
        """Notes that tombstones under these keys are on the topic."""
        self._ending = {key: at_ms for key, at_ms in self._ending.items() if now_ms - at_ms < _FORGET_EVERY_MS}
        for key in keys:
            self._ending[key] = now_ms
            self.kept.ended(key)

    @property
    def limits(self) -> tuple[Overflow, ...]:
        """What its bounds left out."""
        parts = self.clients.limits, self.book.limits, self._liveness.limits
        return *(each for part in parts for each in part), self.kept.full, self._unsearched, *self._comparisons.limits

    def sizes(self) -> dict[str, int]:
        """How much is kept of what."""
        return {
            "clients": len(self.clients),
            "applications": len(self.clients.applications),
            "connections": self._liveness.connections,
            "closed_ranges": self._liveness.closed_ranges,
            "findings": len(self.book.entries),
            "records": len(self.kept),
        }

    def _record_failed(self, topic: str, at: LogPosition, error: Exception) -> None:
        self.passed_over.add(topic, f"Record {at.offset} of partition {at.partition} of {topic}", error, at.appended_ms)

    def _finding_failed(self, entry: FindingEntry, error: Exception) -> None:
        self.passed_over.add(FINDINGS, f"Finding {entry.fingerprint} ({entry.code})", error, entry.last_seen_ms)

    def _apply(self, found: EngineInput, ordered_ms: int) -> None:
        if isinstance(found, PushResult):
            self._pushed(found, ordered_ms)
        elif isinstance(found, Erased):
            self._ended(found.client, _position(found))
        else:
            self._happened(found)

    def _pushed(self, result: PushResult, ordered_ms: int) -> None:
        push = judged_push(result, ordered_ms, self._liveness.known)
        if result.unsearched:
            self._unsearched.left_out(push.tenant)
        key = push.client
        if (tombstone := self._tombstones.get(key)) is not None and tombstone.is_after(push.position):
            self._erased[key] = max(push.appended_ms, self._erased.get(key, 0))
            return
        if push.appended_ms <= self._erased.get(key, -1):  # Kafka's time went back: what came before is erased first
            self._erase()
        self.kept.pushed(push)
        taken = self.clients.apply(push)
        if taken is None:
            self._overtaken(push)
            return
        application, earlier = taken
        # Until all has been read, a client that declares its configuration may be still to come: what was seen of it has to wait.
        self.book.pushed(application, push, earlier, leaks_only=self._is_catching_up and push.rank > 0)
        if self.clients.is_full:
            self._make_room(push)

    def _overtaken(self, push: JudgedPush) -> None:
        """A secret that it had counts, though what its client has pushed since was read before it."""
        newer = self.clients.of(push.client)
        if self._is_catching_up and newer is not None and newer.position.is_after(push.position):
            self.book.pushed(self.clients.application(push.application), push, newer, leaks_only=True)
            self.book.pushed(self.clients.applications[newer.application], newer, push, leaks_only=newer.rank > 0)

    def _make_room(self, push: JudgedPush) -> None:
        """At the start clients are known, too, that have been gone for long: these go before others, and one that comes then goes alone."""
        if not self._is_catching_up:
            gone, applications = self.clients.make_room()
        elif self.clients.is_forgotten(push, self._newest_ms):
            gone, applications = [self.clients.erase(push.client) or push], []
        else:
            gone, applications = self.clients.forget(self._newest_ms)
        self.book.forgotten(gone, applications, push.appended_ms)

    def _erase(self) -> None:
        if self._erased:
            self.book.erased(self._erased)
            self._erased = {}

    def _ended(self, key: str, tombstone: LogPosition) -> None:
        """Its client is erased, or gone for long: by this job, or another one, or a person."""
        now_ms = tombstone.appended_ms
        pushed_since = self._pushed_since(key, tombstone)
        # Where Kafka's time went back, what is erased has a later time than its tombstone.
        erased_ms = now_ms if pushed_since else max(now_ms, self.kept.pushed_ms(key))
        self._erased[key] = max(erased_ms, self._erased.get(key, 0))
        # Where the topic has got partitions, an earlier push of this client may be still to come.
        if (earlier := self._tombstones.get(key)) is None or tombstone.is_after(earlier):
            self._tombstones[key] = tombstone
        if pushed_since:
            return
        if self._ending.pop(key, None) is not None:
            return
        application = self.kept.application(key)
        self.kept.ended(key)
        if application is not None:  # F35: nor do comparisons name what it had
            self.clients.erase_starts(application, key)
        if (push := self.clients.erase(key)) is not None:
            self.book.forgotten([push], [], now_ms)

    def _pushed_since(self, key: str, tombstone: LogPosition) -> bool:
        """Whether the client of a key has pushed since; of one that is forgotten its record's time is known alone."""
        push = self.clients.of(key)
        return self.kept.pushed_ms(key) > tombstone.appended_ms if push is None else push.position.is_after(tombstone)

    def _caught_up(self) -> None:
        """All has been read that there was at the start: what was seen of clients that say no more counts, and what applications lack."""
        # Compaction may have removed what a tombstone erases, and whose time may be later than the tombstone's.
        self._erased |= {key: _EVER for key in self._tombstones if not self.kept.pushed_ms(key)}
        self._is_catching_up = False
        self._times.meet(self._times_ahead)
        newest: dict[tuple[str, str | None, int], JudgedPush] = {}
        for push in self.clients.all():
            kind = push.application, push.client_type, push.rank
            if kind not in newest or push.position.is_after(newest[kind].position):
                newest[kind] = push
        seen = (push for push in self.clients.all() if push.rank)
        for push in {push.client: push for push in (*seen, *newest.values())}.values():
            try:
                self._waited(push)
            except Exception as error:
                self._record_failed(CONFIGS, push.position, error)
        self.book.old_ms = self._newest_ms

    def _waited(self, push: JudgedPush) -> None:
        application = self.clients.applications[push.application]
        if self.clients.presence.is_declared(push):
            return
        if push.rank:
            self.book.pushed(application, push, push)
        self.book.passes(application, push)

    def _happened(self, event: InputRecord) -> None:
        record = event.record
        self._liveness.apply(event)
        self._comparisons.happened(event)
        self.clients.presence.heard()
        self.kept.happened(event)
        if record.kind == Kind.HEARTBEAT:
            subject = gateway_subject(record.cluster, record.broker, record.gateway)
            self.book.condition(fingerprint("OP001", "", subject), Condition("OP001", subject, False, "high", "", event.appended_ms))

    def _report(self, without: str = "") -> None:
        for condition in self._conditions.take(without):
            self._condition(condition)

    def _condition(self, condition: Condition) -> None:
        if condition.code == "OP001" and self._liveness.beat_ms(condition.subject) > condition.at_ms:
            return
        self.book.condition(fingerprint(condition.code, "", condition.subject), condition)


def _position(found: EngineInput) -> LogPosition:
    return LogPosition(found.appended_ms, found.partition, found.offset)
