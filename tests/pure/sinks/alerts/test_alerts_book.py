"""Which receiver gets which messages when: routing, groups, storms (F32), flapping, silences, and restarts (F31)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from alert_receivers import receiver
from made_findings import DAY_MS, NOW_MS, leak, made

from clientscope.findings.record import Alert, Decided, Finding, Suppressed
from sinks.alerts.book import DeliveryBook
from sinks.alerts.damping import with_time
from sinks.alerts.message import Message
from sinks.alerts.progress import DeadLetter, DeliveryPlan, Disabled, LastDelivery, Request, kind_of, message_id
from sinks.alerts.receivers import Damping, Receiver, Receivers
from sinks.alerts.silences import Match, Silence

MINUTE = 60_000


@dataclass
class World:
    """A book, a clock, and a topic that remembers."""

    receivers: Sequence[Receiver]
    silences: tuple[Silence, ...] = ()
    now: int = NOW_MS
    topic: dict[str, bytes] = field(default_factory=dict)
    findings: dict[str, bytes | None] = field(default_factory=dict)
    book: DeliveryBook = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """As after a kill: all that is known is what the topics have."""
        self.book = DeliveryBook(Receivers(tuple(self.receivers), self.silences))
        self.book.take_progress(self.topic, self.now)
        self.book.take_findings(self.findings, self.now)

    def see(self, *findings: Finding) -> None:
        news: Mapping[str, bytes | None] = {one.fingerprint: one.model_dump_json().encode() for one in findings}
        self.findings |= news
        self.book.take_findings(news, self.now)

    def planned(self, name: str = "hook") -> list[Message]:
        """What is due, written down."""
        due = self.book.due(name, self.now)
        for message in due:
            self.book.plan(message.plan)
            self.topic[message.plan.key] = message.plan.model_dump_json().encode()
        return due

    def deliver(self, name: str = "hook", dead: bool = False) -> list[Message]:
        """What is due, delivered."""
        messages = self.planned(name)
        for message in messages:
            self.settle(message.plan, dead)
        return messages

    def settle(self, plan: DeliveryPlan, dead: bool = False) -> None:
        deliveries = []
        for fingerprint, number in plan.members:
            before = self.book.last_delivery(plan.receiver, fingerprint)
            times = (
                with_time(before.times_ms if before else (), self.now)
                if plan.status == "firing" and not dead
                else before and before.times_ms
            )
            deliveries.append(
                LastDelivery(
                    receiver=plan.receiver, fingerprint=fingerprint, number=number, status="dead" if dead else plan.status,
                    message_id=plan.id, group=plan.group, at_ms=self.now, times_ms=list(times or ()),
                )
            )  # fmt: skip
        self.book.unplan(plan.key)
        self.topic.pop(plan.key)
        self.book.delivered(deliveries, self.now)
        self.topic |= {one.key: one.model_dump_json().encode() for one in deliveries}

    def messages(self, name: str = "hook") -> list[tuple[str, list[tuple[str, int]]]]:
        return [(one.plan.status, [(fp[:8], number) for fp, number in one.plan.members]) for one in self.deliver(name)]


def resolved(finding: Finding, at_ms: int) -> Finding:
    return finding.model_copy(update={"state": "resolved", "ended_ms": at_ms})


def again(finding: Finding, number: int, at_ms: int) -> Finding:
    alert = Alert(number=number, why="reopened", at_ms=at_ms)
    return finding.model_copy(update={"state": "open", "ended_ms": None, "opened_ms": at_ms, "alert": alert})


def test_a_finding_is_delivered_once_and_its_end_once() -> None:
    world = World([receiver()])
    world.see(made(1))
    assert world.messages() == [("firing", [("00000001", 1)])]
    world.see(made(1, client_count=900, revision=2))
    world.now += MINUTE
    assert world.messages() == []
    world.see(resolved(made(1), world.now))
    assert world.messages() == [("ended", [("00000001", 1)])]
    assert world.messages() == []
    world.see(again(made(1), 2, world.now))
    assert world.messages() == [("firing", [("00000001", 2)])]


@pytest.mark.parametrize(
    ("finding", "delivered"),
    [
        (made(1), True),
        (leak(1, state="stopped"), True),
        (made(1, alert=None), False),
        (made(1, confidence="low"), False),
        (made(1, suppressed=Suppressed(reason="x", until="2027-01-01", where="f:1")), False),
        (made(1, state="closed", decided=Decided(resolution="accepted", by="ann", why="x", at_ms=1)), False),
        (made(1, state="resolved", ended_ms=NOW_MS), False),
    ],
)
def test_which_findings_are_delivered(finding: Finding, delivered: bool) -> None:
    world = World([receiver()])
    world.see(finding)
    assert bool(world.messages()) is delivered


@pytest.mark.parametrize(
    "ended",
    [
        {"suppressed": Suppressed(reason="x", until="2027-01-01", where="f:1")},
        {"state": "closed", "decided": Decided(resolution="accepted", by="ann", why="x", at_ms=1)},
        {"state": "resolved", "ended_ms": NOW_MS},
    ],
)
def test_every_kind_of_end_is_delivered(ended: dict[str, Any]) -> None:
    world = World([receiver(), receiver("quiet", resolved=False)])
    world.see(made(1))
    assert world.messages() and world.messages("quiet")
    world.see(made(1, **ended))
    assert world.messages() == [("ended", [("00000001", 1)])]
    assert world.messages("quiet") == []


def test_a_leak_that_stops_is_no_news_and_no_end() -> None:
    world = World([receiver()])
    world.see(leak(2))
    assert world.messages()
    world.see(leak(2, state="stopped", ended_ms=NOW_MS))
    assert world.messages() == []


def test_each_receiver_gets_its_own() -> None:
    world = World([receiver("all"), receiver("bad", severity="critical"), receiver("an", match=Match(code=("AN*",)))])
    world.see(made(1), leak(2))
    assert [len(world.messages(name)) for name in ("all", "bad", "an")] == [2, 1, 1]


def test_f32_a_storm_is_one_message_with_a_count_and_its_end_another() -> None:
    world = World([receiver(group_wait_ms=10_000, group_interval_ms=5 * MINUTE)])
    storm = [leak(number) for number in range(2_000)]
    for start in range(0, 2_000, 200):
        world.see(*storm[start : start + 200])
        assert world.messages() == []
        world.now += 999
    world.now += 10
    (message,) = world.deliver()
    assert len(message.findings) == 2_000
    world.see(*(leak(number) for number in range(2_000, 2_100)))
    world.now += 4 * MINUTE
    assert world.messages() == [], "the group had a message less than five minutes ago"
    world.now += MINUTE
    (message,) = world.deliver()
    assert len(message.findings) == 100
    world.see(*(resolved(one, world.now) for one in storm))
    world.now += 10_000
    (message,) = world.deliver()
    assert (message.plan.status, len(message.findings)) == ("ended", 2_000)


def test_groups_are_apart() -> None:
    world = World([receiver(group_by=("principal",)), receiver("each", group_by=("finding",))])
    world.see(made(1), made(2), leak(3, application=made().application.model_copy(update={"principal": "User:else"})))
    assert sorted(len(one.findings) for one in world.deliver()) == [1, 2]
    assert len(world.deliver("each")) == 3


def test_f31_a_restart_tells_nothing_twice_and_forgets_nothing() -> None:
    world = World([receiver()])
    world.see(made(1))
    assert world.messages()
    world.see(made(2))
    world.restart()
    assert world.messages() == [("firing", [("00000002", 1)])], "what was delivered isn't sent again, what wasn't is"
    world.see(resolved(made(1), world.now))
    world.restart()
    assert world.messages() == [("ended", [("00000001", 1)])]


def test_f31_a_kill_in_mid_send_sends_the_same_message_again() -> None:
    world = World([receiver(group_by=())])
    world.see(made(1), made(2))
    (before,) = world.planned()
    world.see(made(3))
    assert [len(one.findings) for one in world.deliver()] == [1], "what is on its way isn't planned again"
    world.restart()
    (plan,) = world.book.plans.values()
    after = world.book.message(plan)
    assert after is not None
    assert (after.plan, after.findings) == (before.plan, before.findings)
    assert world.book.due("hook", world.now) == []
    world.settle(plan)
    world.restart()
    assert (world.messages(), world.book.plans) == ([], {})


def test_f31_the_key_is_deterministic_and_of_receiver_finding_and_number() -> None:
    members = [("b" * 32, 1), ("a" * 32, 2)]
    one = message_id("hook", "firing", members)
    assert one == message_id("hook", "firing", members[::-1]) == "msg_fde8ad429403547b597c042297b095c9"
    others = {
        message_id("other", "firing", members), message_id("hook", "ended", members), message_id("hook", "firing", [("a" * 32, 2)]),
        message_id("hook", "firing", [("b" * 32, 2), ("a" * 32, 2)]),
    }  # fmt: skip
    assert len(others | {one}) == 5


def test_f32_a_flapping_finding_is_delivered_three_times_and_then_once_it_is_quiet() -> None:
    world = World([receiver(damping=Damping(after=3, window_ms=60 * MINUTE, quiet_ms=15 * MINUTE))])
    sent: list[Any] = []
    finding = made(1, opened_ms=NOW_MS)
    for number in range(1, 21):
        finding = again(finding, number, world.now)
        world.see(finding)
        sent += [(one.plan.status, one.plan.members[0][1], bool(one.damped)) for one in world.deliver()]
        world.now += MINUTE
        finding = resolved(finding, world.now)
        world.see(finding)
        sent += [(one.plan.status, one.plan.members[0][1], bool(one.damped)) for one in world.deliver()]
        world.now += MINUTE
    assert sent[:5] == [("firing", 1, False), ("ended", 1, False), ("firing", 2, False), ("ended", 2, False), ("firing", 3, True)]
    assert len(sent) == 5, "40 changes in 40 minutes"
    world.restart()
    world.now += 13 * MINUTE
    assert world.messages() == []
    world.now += MINUTE
    assert world.messages() == [("ended", [("00000001", 3)])], "how it is now that it is quiet"


@pytest.mark.parametrize(
    ("sent_ms", "is_held"),
    [(-60 * MINUTE, False), (1 - 60 * MINUTE, True), (-MINUTE, True), (0, True), (1, False), (60 * MINUTE, False), (DAY_MS, False)],
    ids=["an hour ago", "within the hour", "a minute ago", "now", "just ahead", "an hour ahead", "a day ahead"],
)
def test_f32_messages_ahead_of_a_clock_that_was_set_back_damp_nothing(sent_ms: int, is_held: bool) -> None:
    world = World([receiver(damping=Damping(after=3, window_ms=60 * MINUTE, quiet_ms=15 * MINUTE))])
    world.now = NOW_MS + sent_ms
    for number in (1, 2, 3):
        world.see(again(made(1), number, world.now))
        assert len(world.deliver()) == 1
    world.now = NOW_MS
    world.see(again(made(1), 4, world.now))
    world.deliver()
    assert world.book.held["hook"] == is_held


@pytest.mark.parametrize(
    ("sent_ms", "waits"),
    [(-5 * MINUTE, False), (-4 * MINUTE, True), (0, True), (1, False), (DAY_MS, False)],
    ids=["long ago", "a moment ago", "now", "just ahead", "a day ahead"],
)
def test_f40_group_does_not_wait_for_times_ahead_of_a_clock_that_was_set_back(sent_ms: int, waits: bool) -> None:
    world = World([receiver(group_interval_ms=5 * MINUTE)])
    world.now = NOW_MS + sent_ms
    world.see(made(1))
    assert len(world.deliver()) == 1
    world.now = NOW_MS
    world.see(made(2))
    assert bool(world.deliver()) is not waits


def test_f40_groups_are_as_before_after_the_first_message_since_a_clock_was_set_back() -> None:
    world = World([receiver(group_interval_ms=5 * MINUTE)])
    world.now = NOW_MS + DAY_MS
    world.see(made(1))
    assert len(world.deliver()) == 1
    sent = 0
    for number in range(2, 22):
        world.now = NOW_MS + number * MINUTE // 2
        if number == 10:
            world.restart()
        world.see(made(number))
        sent += len(world.deliver())
    assert sent == 2, "of ten minutes"


def test_a_silence_holds_and_forgets_nothing() -> None:
    ends = datetime.fromtimestamp(NOW_MS / 1000, UTC) + timedelta(minutes=10)
    world = World([receiver(), receiver("other")], (Silence(Match(code=("AN*",)), "upgrade", ("hook",), None, ends),))
    world.see(made(1), made(2), leak(3))
    assert world.messages() == [("firing", [("00000003", 1)])]
    assert (world.book.held["hook"], len(world.messages("other"))) == (2, 2)
    world.see(resolved(made(2), world.now))
    world.now += 10 * MINUTE
    assert world.messages() == [("firing", [("00000001", 1)])], "what ended in a silence was never sent"


def test_what_was_given_up_is_not_tried_again_by_itself() -> None:
    world = World([receiver()])
    world.see(made(1))
    (message,) = world.deliver(dead=True)
    world.restart()
    assert world.messages() == []
    world.see(resolved(made(1), world.now))
    assert world.messages() == [], "nobody had a message that it began"
    world.see(again(made(1), 2, world.now))
    assert world.messages() == [("firing", [("00000001", 2)])]
    letter = DeadLetter(**message.plan.model_dump(), reason="HTTP 500", attempts=20, at_ms=NOW_MS)
    assert letter.plan() == message.plan, "a replay is the same message"


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(
    ("before", "minute", "is_due"),
    [
        ([(0, False)], 4, False),
        ([(0, False)], 5, True),
        ([(0, True)], 0, True),
        ([(0, True)], 4, True),
        ([(0, False), (5, True)], 6, True),
        ([(0, True), (1, False)], 5, False),
        ([(0, True), (1, False)], 6, True),
    ],
)
def test_f32_given_up_message_does_not_hold_up_its_group(before: list[tuple[int, bool]], minute: int, is_due: bool, restarts: bool) -> None:
    """Messages before it are minutes, and whether each was given up; a group gets one in five minutes."""
    world = World([receiver(group_interval_ms=5 * MINUTE)])
    for number, (at, dead) in enumerate(before, 1):
        world.now = NOW_MS + at * MINUTE
        world.see(made(number))
        assert len(world.deliver(dead=dead)) == 1
    world.now = NOW_MS + minute * MINUTE
    world.see(made(9))
    if restarts:
        world.restart()
    assert world.messages() == ([("firing", [("00000009", 1)])] if is_due else [])


def test_a_disabled_receiver_keeps_what_there_is_to_tell() -> None:
    world = World([receiver()])
    gone = Disabled(receiver="hook", reason="HTTP 410", at_ms=NOW_MS)
    world.topic[gone.key] = gone.model_dump_json().encode()
    world.restart()
    world.see(made(1))
    assert world.messages() == []
    world.book.take_progress({gone.key: None}, world.now)
    assert len(world.messages()) == 1


def test_a_finding_that_began_anew_is_delivered_whatever_its_number() -> None:
    world = World([receiver()])
    world.see(again(made(1), 5, world.now))
    assert world.messages()
    world.see(made(1))
    assert world.messages() == [("firing", [("00000001", 1)])]
    assert world.messages() == []


def test_records_are_known_by_their_keys_and_bad_ones_are_counted() -> None:
    request = Request(receiver="hook", plans=[], at_ms=1)
    book = DeliveryBook(Receivers((receiver(),)))
    book.take_progress({request.key: request.model_dump_json().encode(), '["told","x","y"]': b"{", "no json": b"{}"}, NOW_MS)
    book.take_findings({"f": b"[]"}, NOW_MS)
    assert (list(book.requests), book.undecodable) == ([request.key], 2)
    assert [kind_of(key) for key in (request.key, "[]", "7", "{")] == ["request", "", "", ""]


def test_findings_that_are_gone_are_forgotten() -> None:
    world = World([receiver()])
    world.see(made(1), made(2))
    world.deliver()
    world.book.take_findings({made(1).fingerprint: None}, world.now)
    assert world.book.forgotten() == [f'["told","hook","{made(1).fingerprint}"]']
    assert world.book.forgotten() == []
