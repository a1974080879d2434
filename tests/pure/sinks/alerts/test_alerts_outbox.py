"""Alerts that a receiver has yet to get: each once, none lost, whatever is committed, compacted, refused or repeated."""

from __future__ import annotations

from typing import Any

from alert_receivers import receiver, waits
from made_findings import NOW_MS, leak, made, resolved

from clientscope.model.finding import Alert, Finding, Owner, Suppressed
from sinks.alerts.message import Message
from sinks.alerts.outbox import GIVE_UP_S, Outbox, Place
from sinks.alerts.receivers import GROUP_WAIT_S
from sinks.alerts.sending import OK, SendResult

FAILED = SendResult("HTTP 500")


class Played:
    """An outbox, a receiver and a clock; a record's offset is the next one."""

    def __init__(self, committed: int | None = None, **fields: Any) -> None:
        self.outbox = Outbox(receiver(**fields), self.deliver)
        self.committed = committed
        self.offset = 0
        self.now = 0.0
        self.result = OK
        self.got: list[Message] = []
        self.given_up = 0

    def deliver(self, message: Message) -> SendResult:
        self.got.append(message)
        return self.result

    def take(self, *findings: Finding) -> None:
        for finding in findings:
            self.outbox.take(finding.fingerprint, finding, Place(0, self.offset), self.committed, NOW_MS, self.now)
            self.offset += 1

    def attempt(self, result: SendResult = OK, after_s: float = GROUP_WAIT_S) -> str:
        """What is sent: status, and the fingerprints' first digits."""
        self.now += after_s
        self.result = result
        before = len(self.got)
        while (sent := self.outbox.send(NOW_MS, self.now)) is not None:
            self.given_up += sent.given_up
        return ", ".join(
            " ".join([each.status, *sorted(finding.fingerprint[7:8] for finding in each.findings)]) for each in self.got[before:]
        )


def test_an_alert_is_sent_once_however_often_its_finding_is_written() -> None:
    played = Played()
    played.take(made(1), made(1, revision=2))
    assert waits(played.outbox) == [(0, 0.0)], "a restart is to read the first again, or the second would be no news"
    assert played.attempt(after_s=GROUP_WAIT_S - 1) == ""
    played.take(made(1, revision=3))
    assert played.attempt(after_s=1) == "firing 1", "nor does it wait anew each time"
    played.take(made(1, revision=4, client_count=9))
    assert played.attempt() == ""
    played.take(made(1, alert=Alert(number=2, why="worse", at_ms=NOW_MS), severity="critical"))
    assert played.attempt() == "firing 1"
    played.take(resolved(1, alert=Alert(number=2, why="worse", at_ms=NOW_MS)))
    assert played.attempt() == "ended 1"
    assert (played.given_up, waits(played.outbox)) == (0, [])


def test_what_receivers_are_told_of() -> None:
    suppressed = Suppressed(reason="x", until="2027-01-01", where="f:1")
    played = Played()
    played.take(
        leak(1, state="stopped"), made(2, confidence="low"), made(3, alert=None), resolved(4), made(5, suppressed=suppressed), made(6),
    )  # fmt: skip
    assert played.attempt() == "firing 1, firing 6", "and those of two owners are two messages"
    played.take(made(6, suppressed=suppressed))
    assert played.attempt() == "ended 6"
    played.take(made(6))
    assert played.attempt() == "", "the job has asked for no new alert"


def test_f32_findings_of_an_owner_that_come_together_are_one_message() -> None:
    played = Played()
    played.take(made(1), made(2))
    assert played.attempt(after_s=GROUP_WAIT_S - 1) == ""
    played.take(made(3), made(4, owner=Owner(team="pay", contact="p")))
    assert played.attempt(after_s=1) == "firing 1 2 3"
    assert played.attempt() == "firing 4"
    played.take(*(resolved(number) for number in (1, 2, 3)))
    assert played.attempt() == "ended 1 2 3"


def test_what_is_over_before_it_was_sent_is_not_sent() -> None:
    played = Played()
    played.take(made(1), resolved(1))
    assert played.attempt() == ""
    for already in ("", "firing 2"):
        played.take(made(2))
        assert not already or played.attempt() == already
        played.outbox.take(made(2).fingerprint, None, Place(0, 9), None, NOW_MS, played.now)
        assert played.attempt() == ""
    played.take(made(2))
    assert played.attempt() == "firing 2", "what had left the topic is new"


def test_only_the_end_of_what_it_was_told_and_only_if_it_wants_that() -> None:
    played = Played(resolved=False, severity="high")
    played.take(made(1), made(2, severity="low"))
    assert played.attempt() == "firing 1"
    played.take(resolved(1), resolved(2))
    assert played.attempt() == ""


def test_f31_after_a_restart_what_was_committed_is_not_sent_again() -> None:
    played = Played(committed=3)
    played.take(made(1), made(2), resolved(2), made(1, revision=2), made(3))
    assert played.attempt() == "firing 3"
    played.take(resolved(1))
    assert played.attempt() == "ended 1"
    played = Played(committed=3, severity="high")
    played.take(made(1, severity="low"), made(2), resolved(2, severity="low"))
    played.take(made(1), resolved(2, severity="low", revision=2))
    assert played.attempt() == "firing 1", "of this one it wasn't told, and of the other's end it was"


def test_the_end_of_what_compaction_has_taken_away_is_sent() -> None:
    played = Played(committed=10, severity="high")
    played.offset = 10
    played.take(resolved(1))
    assert played.attempt() == "ended 1", "the receiver may think that it fires"
    played.take(made(2), resolved(2), resolved(3, alert=None), resolved(4, severity="low"))
    assert played.attempt() == "", "of these it was never told"


def test_f30_what_fails_is_tried_for_two_hours_under_one_id_and_is_not_committed() -> None:
    played = Played()
    played.take(made(1))
    played.attempt(FAILED)
    played.take(made(2))
    while not played.given_up:
        assert played.now < 2 * GIVE_UP_S, "it would be tried for ever"
        assert waits(played.outbox) == [(0, 0.0), (1, GROUP_WAIT_S)]
        sent = played.attempt(FAILED, after_s=600)
        assert played.given_up or "firing 2" not in sent, "a further one of its owner waits for it"
    assert GIVE_UP_S <= played.now < GIVE_UP_S + 1_200
    assert len({message.id for message in played.got}) == 2, "one id for each"
    assert waits(played.outbox) == [(1, GROUP_WAIT_S)], "the first was given up, and so may be committed"


def test_an_error_of_our_own_is_a_failed_attempt_and_quotes_nothing() -> None:
    def fails(message: Message) -> SendResult:
        raise ValueError("canary")

    outbox = Outbox(receiver(), fails)
    outbox.take(made(1).fingerprint, made(1), Place(0, 0), None, NOW_MS, 0.0)
    sent = outbox.send(NOW_MS, GROUP_WAIT_S)
    assert sent is not None and sent.result.reason == "an error of clientscope's own: ValueError"
    assert waits(outbox) == [(0, 0.0)]


def test_f30_what_is_refused_for_good_is_given_up_at_once() -> None:
    played = Played()
    played.take(made(1))
    assert played.attempt(SendResult("HTTP 410", is_final=True)) == "firing 1"
    assert (played.given_up, waits(played.outbox), played.attempt()) == (1, [], "")


def test_f30_a_retry_after_holds_all_messages_of_the_receiver() -> None:
    played = Played()
    played.take(made(1))
    played.attempt(SendResult("HTTP 429", retry_after_s=600))
    played.take(made(2, owner=None))
    assert played.attempt(after_s=599) == ""
    assert played.attempt(after_s=1) == "firing 1, firing 2"


def test_an_end_never_overtakes_the_alert_that_it_ends() -> None:
    played = Played()
    played.take(made(1))
    played.attempt(FAILED)
    played.take(resolved(1))
    assert played.attempt(FAILED) == "firing 1"
    assert played.attempt(after_s=600) == "firing 1, ended 1"
