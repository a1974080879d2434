"""Incremental counts equal a look at every client, after any events in any order."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from datetime import date

import oracle
import pytest
from fleets import BAD, GOOD, HOUR, LEAK, MINUTE, SECOND, Fleet, left_out
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from clientscope.findings.conditions import Condition
from clientscope.model.codec import encode_whole
from clientscope.model.decision import Resolution
from streaming.findings import engine, entry
from streaming.findings.book import COUNTS_EVERY_MS, is_due
from streaming.findings.clients import LiveClients
from streaming.findings.inputs import JudgedPush

TWICE = {**LEAK, "ssl.keystore.password": "hunter2-canary", "acks": "0"}
PUSHED = (
    LEAK, TWICE, BAD, GOOD, {"acks": "all", "linger.ms": "7", "retries": "0"}, {"token.type": "Kq7Zt9XwLm2Pv"},
    {"security.protocol": "SASL_SSL"},
)  # fmt: skip
NAMES = (("orders-1", "User:a"), ("orders-1", "User:b"), ("orders-1", None), ("orders-2", "User:a"), ("billing", "User:a"))
ADDRESSES, INSTANCES = ("10.0.0.1", "10.0.0.2"), (None, 1, 2, 3)


class Histories(RuleBasedStateMachine):
    """Clients come, push, move, share connections, leave and are erased; people decide; time passes; the job restarts.

    F41: they have the same instance ids, and those of two principals or of none the same names.
    """

    @initialize()
    def begin(self) -> None:
        self.fleet = Fleet()
        self.epoch, self.restarts_ms = 1, list[int]()
        self.connections: list[int] = []
        self.closed: dict[int, int] = {}
        self.forgotten, self.decided, self.stopped = set[str](), set[str](), set[str]()

    @rule(names=st.sampled_from(NAMES), address=st.sampled_from(ADDRESSES))
    def connects(self, names: tuple[str, str | None], address: str) -> None:
        self.connections.append(self.fleet.connect(*names, address, self.epoch))

    @rule(which=st.integers(0, 30), instance=st.sampled_from(INSTANCES), pushed=st.sampled_from(PUSHED), group=st.sampled_from(("", "g")))
    def pushes(self, which: int, instance: int | None, pushed: dict[str, str], group: str) -> None:
        """On a connection that was closed up to a minute ago, or was never seen: the engine remembers closings for so long."""
        self.fleet.now += 10
        known = [*self.connections, 1_000 + which]
        number = known[which % len(known)]
        if self.closed.get(number, self.fleet.now) < self.fleet.now - MINUTE:
            return
        given = {**pushed, "group.id": group} if group else pushed
        self.fleet.push(connection=number, instance=instance, settings=given, epoch=self.epoch, **self.fleet.identities.get(number, {}))

    @rule(which=st.integers(0, 30))
    def leaves(self, which: int) -> None:
        if self.connections:
            number = self.connections[which % len(self.connections)]
            if number not in self.closed:
                self.closed[number] = self.fleet.now
                self.fleet.close(number, self.epoch)

    @rule()
    def the_gateway_restarts(self) -> None:
        self.epoch += 1
        self.connections.clear()
        self.fleet.heartbeat(self.epoch)

    @rule()
    def the_job_restarts(self) -> None:
        """And reads of each connection what happened to it last."""
        self.stopped |= {finding.fingerprint for finding in self.fleet.findings() if finding.state == "stopped"}
        self.fleet.start()
        self.restarts_ms.append(self.fleet.now)

    @rule(which=st.integers(0, 5))
    def is_erased(self, which: int) -> None:
        pushes = list(self.fleet.engine.clients.all())
        if pushes:
            self.fleet.erase(pushes[which % len(pushes)].client)

    @rule(which=st.integers(0, 5), resolution=st.sampled_from(["rotated", "accepted", "test-value", None]))
    def somebody_decides(self, which: int, resolution: Resolution | None) -> None:
        if self.fleet.published:
            fingerprint = sorted(self.fleet.published)[which % len(self.fleet.published)]
            self.decided.add(fingerprint)
            self.fleet.decide(fingerprint, resolution, date(2027, 1, 17) if resolution == "accepted" else None)

    @rule(milliseconds=st.sampled_from([SECOND, 29 * SECOND, MINUTE, 12 * MINUTE, 3 * HOUR, 40 * HOUR]))
    def time_passes(self, milliseconds: int) -> None:
        """The job looks within a minute, as it does each second: of a secret it counts ten minutes from then on."""
        self.fleet.later(min(milliseconds, MINUTE))
        self.fleet.later(max(milliseconds - MINUTE, 0))

    @invariant()
    def what_is_found_is_what_a_look_at_all_says(self) -> None:
        if not hasattr(self, "fleet"):
            return
        self.fleet.write()
        topics, now_ms = self.fleet.topics(), self.fleet.now
        known = {push.client: push for push in self.fleet.engine.clients.all()}
        self.forgotten -= known.keys()
        there = oracle.Fleet(*topics, now_ms, self.forgotten)
        forgotten = there.newest.keys() - known.keys()
        assert not forgotten & there.live and all(now_ms - there.newest[client]["appended_ms"] > HOUR for client in forgotten)
        self.forgotten |= forgotten
        there = oracle.Fleet(*topics, now_ms, self.forgotten)
        assert there.newest.keys() == known.keys()
        assert {client for client in known if self.fleet.engine.clients.is_live(client)} == there.live
        self.comparisons([push for client, push in known.items() if client in there.live])
        found, was_erased = oracle.findings(*topics, now_ms, self.forgotten), any("origin" not in push for push in topics[0])
        for one in self.fleet.engine.book.entries.values():
            entry, record = self.fleet.engine.book.advanced(one, now_ms)
            for which, said in oracle.recorded([json.loads(encode_whole(record))]).items():
                expected = found.pop(which, {"clients": set()})
                if was_erased:  # what its pushes ended stays ended
                    assert said["clients"] == expected["clients"]
                    continue
                # A start counts a secret's ten minutes anew, and knows of no push without it that another one of its client replaced.
                may_be_open = self.restarts_ms or (entry.kind == "setting" and entry.ends_by_itself)
                # Nor does it know why a secret had stopped: where that was, it is over.
                may_be_stopped = record.fingerprint in self.stopped
                may_differ = may_be_open if said["state"] == "open" else may_be_stopped
                if may_differ or record.fingerprint in self.decided:
                    expected["state"] = said["state"]
                # Of a push that its client has replaced, the topic says so when its record's turn comes: a restart may come first.
                at_ms, seen_ms = expected.pop("last_seen_ms"), said.pop("last_seen_ms")
                is_lost = any(0 <= restart_ms - at_ms <= 2 * COUNTS_EVERY_MS for restart_ms in self.restarts_ms)
                assert seen_ms == at_ms or (seen_ms < at_ms and is_lost)
                assert said == expected
        assert not any(each["clients"] or not was_erased for each in found.values()), "nothing is left unreported"

    def comparisons(self, live: list[JudgedPush]) -> None:
        """What the fleet's rules compare."""
        anew: defaultdict[str, LiveClients] = defaultdict(LiveClients)
        for push in live:
            anew[push.application].add(push)
        counted = self.fleet.engine.clients.live()
        assert {key: of.pushes for key, of in counted.items()} == {key: of.pushes for key, of in anew.items()}
        for key, of in anew.items():
            assert Counter(map(str, counted[key].variants)) == Counter(map(str, of.variants))

    @rule()
    def a_minute_brings_all_counts(self) -> None:
        self.fleet.later()
        self.fleet.later()
        book, now_ms = self.fleet.engine.book, self.fleet.now
        for found in book.entries.values():
            record = book.advanced(found, now_ms)[1]
            assert not is_due(found, record, now_ms)
            assert found.published is not None and record.client_count == found.published.client_count
            assert found.kind == "leak" or not found.ends_by_itself


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck))


def test_secret_is_open_for_ten_more_minutes_if_its_client_leaves_as_a_lost_gateway_is_back() -> None:
    fleet = Fleet()
    connection = fleet.client(1, LEAK)
    fleet.later()
    fleet.later(40 * HOUR)  # with a heartbeat, the first after so long
    fleet.close(connection)
    for milliseconds, state in ((0, "open"), (9 * MINUTE, "open"), (MINUTE, "stopped")):
        fleet.later(milliseconds)
        (expected,) = oracle.findings(*fleet.topics(), fleet.now).values()
        assert fleet.state("SK001") == expected["state"] == state


def test_secret_that_had_stopped_before_a_start_stops_again_with_the_push_that_had_it_since() -> None:
    fleet = Fleet()
    fleet.push(connection=7, settings={**LEAK, "group.id": "g"})
    fleet.later()
    fleet.later(11 * MINUTE)
    assert fleet.state("SK001") == "stopped"
    fleet.start()
    for pushed, state in ((LEAK, "open"), (GOOD, "stopped")):
        fleet.push(connection=7, settings=pushed)
        fleet.later(SECOND)
        assert fleet.state("SK001") == state
    assert fleet.one("SK001").reopened == 1


def test_places_clients_and_connections_that_make_room_leave_the_counts_right(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 4
    monkeypatch.setattr(entry, "MOST_PLACES_KEPT", most)
    monkeypatch.setattr(engine, "CONNECTIONS_PER_CLIENT", 1)
    fleet = Fleet(most_clients=2 * most)
    for number in range(5 * most):
        fleet.client(number + 1, (LEAK, TWICE)[number % 2], f"app{number % (3 * most)}x", address=f"10.0.0.{number}")
        fleet.later(SECOND)
        pushes = [push for application in fleet.engine.clients.applications.values() for push in application.clients.values()]
        live = {push.client for push in pushes if fleet.engine.clients.is_live(push.client)}
        for found in fleet.engine.book.entries.values():
            having = {client for where in found.places.values() for client in where.clients}
            assert {push.client for push in found.live} == live & having and {push.client for push in found.gone} == having - live
            assert [where.live for where in found.places.values()] == [len(live & where.clients.keys()) for where in found.places.values()]
    assert left_out(fleet.engine)["clients"] and left_out(fleet.engine)["connections"]


def lived() -> Fleet:
    """One in which each finding has been looked at once after the start: from then on a look has a cause."""
    fleet = Fleet()
    fleet.client(1, BAD)
    fleet.later()
    fleet.later()
    fleet.later()
    return fleet


def test_a_finding_that_could_not_be_written_is_written_later() -> None:
    fleet = lived()
    fleet.client(2, BAD, "billing-1")
    assert len(fleet.engine.changes(fleet.now)) == 1, "and then Kafka is away"
    fleet.later()
    assert len(fleet.findings("AN101")) == 2
    closed = fleet.findings("AN101")[0].fingerprint
    fleet.decide(closed, "test-value")
    assert len(fleet.engine.changes(fleet.now)) == 1
    fleet.later()
    assert {each.state for each in fleet.findings("AN101")} == {"open", "closed"}


def test_a_closed_finding_leaves_the_topic_a_month_later_but_not_while_a_connected_client_has_it() -> None:
    fleet = lived()
    closed = fleet.one("AN101").fingerprint
    fleet.decide(closed, "test-value")
    for _ in range(32):
        fleet.later(24 * HOUR)
    assert fleet.counted("AN101") == ("closed", 1)
    fleet.close(1)
    fleet.later(24 * HOUR)
    assert not fleet.published


def test_clients_that_a_comparison_names_are_shown_as_of_their_newest_pushes() -> None:
    fleet = Fleet()
    first = fleet.connect("orders-2")
    for client, connection, acks in (("orders-2", first, "0"), ("orders-1", 1_001, "all")):
        fleet.now += 10
        fleet.push(client, connection, settings={"acks": acks})
    fleet.later()
    fleet.later()
    assert fleet.one("AN401").evidence == ("acks: 0 before, all now",)
    fleet.now += MINUTE
    again_ms = fleet.now
    fleet.push("orders-2", first, settings={"acks": "all", "sasl.password": "hunter2-canary"})
    fleet.later()
    fleet.later()
    assert [each.pushed_ms for each in fleet.one("AN401").clients] == [again_ms]


def test_a_new_leak_is_reported_once_while_the_rest_is_still_read() -> None:
    fleet = lived()
    fleet.client(7, {**LEAK, "acks": "0"}, "etl-1")
    events, fleet.events = fleet.events, []  # which are read later than the pushes
    fleet.start()
    early = fleet.engine.early(fleet.now)
    (leak,) = early.values()
    assert leak is not None and (leak.code, leak.state, leak.alert and leak.alert.why) == ("SK001", "open", "new")
    fleet.engine.written(early, fleet.now)
    assert not fleet.engine.early(fleet.now), "once"
    assert not fleet.engine.early(fleet.now + 2 * MINUTE) and not fleet.engine.early(fleet.now + 15 * MINUTE), "whatever it takes"
    fleet.published |= {key: encode_whole(record) for key, record in early.items() if record}
    fleet.events = events
    fleet.start()
    assert not fleet.engine.early(fleet.now)
    fleet.later(SECOND)
    assert fleet.one("SK001").alert == leak.alert and len(fleet.findings("AN101")) == 2
    fleet.start()
    assert not fleet.engine.early(fleet.now), "what the topic has waits until all is read"


def test_what_is_wrong_with_the_job_is_said_while_the_rest_is_still_read_but_no_gateway_is_lost() -> None:
    fleet = lived()
    fleet.start()
    for code in ("OP001", "OP008"):
        fleet.conditions.report(Condition(code, f"subject of {code}", True, "medium", "why", fleet.now))
    assert [each.code for each in fleet.engine.early(fleet.now).values() if each] == ["OP008"]
    fleet.later(SECOND)
    assert {each.code for each in fleet.findings() if each.kind == "operation"} == {"OP001", "OP008"}
