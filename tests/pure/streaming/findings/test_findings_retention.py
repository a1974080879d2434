"""Retention of ``clientscope.configs``: the record that goes, and when, over months, restarts and wrong clocks."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any
from uuid import UUID

import pytest
from fleets import HOUR, MINUTE, NOW, SECOND, connected, left_out, new_engine, pushed, tombstones
from record_bytes import config_record, connection_record, setting

from clientscope.model.client_key import client_key
from clientscope.model.codec import encode_whole
from clientscope.model.enums import Kind
from streaming import clients_seen
from streaming.checkpoints.job_records import JobState
from streaming.findings import retention
from streaming.findings.engine import CONNECTIONS_BACK_MS, FindingsEngine
from streaming.findings.inputs import Erased
from streaming.findings.retention import DAY_MS, Kept


class Topics:
    """Both topics as Kafka keeps them, compacted and by age, and jobs that read and write them; time is what the test says.

    Attributes:
        configs: key → offset, Kafka's time and value of its newest record; a tombstone has no value, and goes a day later.
        wrong_ms: by how much the job's clock is wrong.
    """

    def __init__(self) -> None:
        self.now, self.wrong_ms = NOW, 0
        self.configs: dict[str, tuple[int, int, bytes | None]] = {}
        self.events: list[tuple[int, bytes]] = []
        self.written = 0
        self.noted = JobState()
        self._offset = self._sequence = 0
        self.job = self.start()

    def start(self) -> FindingsEngine:
        """A job that begins with what the topics have, and with what the one before noted."""
        noted = clients_seen.noted(self.noted, self.now + self.wrong_ms)
        self.job = new_engine(kept=Kept(noted.seen))
        for key, (offset, at_ms, value) in sorted(self.configs.items(), key=lambda item: item[1]):
            self.read(key, offset, at_ms, value)
        since_ms = min(self.now - CONNECTIONS_BACK_MS, noted.since_ms)
        self.job.apply(connected(each for each in self.events if each[0] >= max(since_ms, self.now - 7 * DAY_MS)))
        return self.job

    def stop(self) -> None:
        records = clients_seen.records(self.job.kept.seen(), self.now + self.wrong_ms)
        self.noted.take({each.key: encode_whole(each) for each in records})

    def push(self, connection: int, instance: int | None, principal: str | None = "User:a", **fields: Any) -> str:
        """A client pushes; returns its record's key."""
        instance_id = None if instance is None else UUID(int=instance)
        key = client_key("c", principal, fields.get("address", "127.0.0.1"), instance_id, "g", 1, connection)
        made = {"connection": connection, "instance_id": instance_id, "principal": principal, "epoch": 1, **fields}
        self.append(key, config_record(setting("acks", "all"), **made))
        return key

    def event(self, kind: Kind, connection: int, instance: int | None = None, principal: str | None = "User:a", **fields: Any) -> None:
        instance_id = None if instance is None else UUID(int=instance)
        made = {"connection": connection, "instance_id": instance_id, "principal": principal, "client_id": "orders-1", **fields}
        self._sequence += 1
        self.events.append((self.now, connection_record(self._sequence, kind=kind, **made)))
        self.job.apply(connected(self.events[-1:]))

    def later(self, milliseconds: int) -> list[str]:
        """Time passes, and the job ends what is over; returns whose records."""
        self.now += milliseconds
        self.event(Kind.HEARTBEAT, -1)
        self.job.changes(self.now + self.wrong_ms)
        ended: list[str] = []
        while keys := self.job.over(self.now + self.wrong_ms):
            for key in keys:
                self.append(key, None)
            self.job.ended(keys, self.now)
            ended += keys
        self.configs = {key: each for key, each in self.configs.items() if each[2] is not None or self.now - each[1] < DAY_MS}
        self.events = [each for each in self.events if self.now - each[0] < 7 * DAY_MS]
        return ended

    def alive(self) -> set[str]:
        """Keys that have a record."""
        return {key for key, (_, _, value) in self.configs.items() if value is not None}

    def append(self, key: str, value: bytes | None) -> None:
        self._offset += 1
        self.written += value is None
        self.configs[key] = (self._offset, self.now, value)
        self.read(key, self._offset, self.now, value)

    def read(self, key: str, offset: int, at_ms: int, value: bytes | None) -> None:
        self.job.apply([replace(each, offset=offset, appended_ms=at_ms) for each in _inputs(key, value)])


@cache
def _inputs(key: str, value: bytes | None) -> list[Any]:
    """What the live query makes of a record; each job that starts reads the same ones again."""
    return tombstones([(0, key.encode())]) if value is None else pushed([(0, value)])


@pytest.fixture
def topics() -> Topics:
    made = Topics()
    made.stop()
    made.start()
    return made


def redeployed(topics: Topics, clients: range) -> None:
    """All are new at the day's begin, and gone at its end."""
    for client in clients:
        topics.event(Kind.IDENTIFIED, client, client)
        topics.push(client, client)
    for _ in range(2):
        topics.later(12 * HOUR - SECOND)
        for client in clients:
            topics.event(Kind.PRESENT, client, client)
    for client in clients:
        topics.event(Kind.CLOSED, client, client)
    topics.now += 2 * SECOND


def test_f50_months_of_daily_redeploys_with_and_without_restarts() -> None:
    """A fleet that is new each day: the topic has those of thirty days, and each tombstone is written once."""
    ended = {}
    for restarts in (False, True):
        topics = Topics()
        topics.stop()
        sizes = []
        for day in range(34):
            redeployed(topics, range(day + 1, day + 2))
            if restarts:
                topics.stop()
                topics.start()
            sizes.append(len(topics.alive()))
        assert max(sizes) == sizes[-1] == 31, "of thirty days, and of the day that each client was there"
        assert topics.written == 34 - 31, "each once"
        ended[restarts] = topics.alive()
    assert ended[False] == ended[True]


def test_f50_of_an_application_that_is_deployed_each_day_the_last_that_are_gone_stay(
    topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MOST_GONE", 5)
    of_one_day = 2
    for day in range(6):
        redeployed(topics, range(of_one_day * day + 1, of_one_day * (day + 1) + 1))
    topics.later(HOUR)
    assert len(topics.alive()) == retention.MOST_GONE + of_one_day, "so many, and those that were there within a day"
    assert left_out(topics.job)["records"] == 0, "nothing that counts as too much"


@pytest.mark.parametrize(
    "steps",
    [
        ["pushes", 20, "opens", "closes", 29, 2, "ended"],
        ["opens", "pushes", 40, "closes", 29, 2, "ended"],  # its gateway should name it each six hours, and didn't
        ["pushes", 20, "another opens", 11, "ended"],
        ["pushes", 31, "ended", "pushes", "stops", "starts", 1, "stops", "starts", 1, 30, "ended"],
        ["pushes", "stops", 32, "starts", 0, 22, 2, "ended"],  # records of connections go back a week
        ["pushes", 20, "stops", 3, "opens", "closes", 3, "starts", 26, 2, "ended"],
    ],
    ids=[
        "it is seen by a connection that never pushes", "while it is connected it stays, though nothing is heard of it",
        "another principal's connection under its id does not keep it", "it comes back after its tombstone, and is new",
        "after a long outage everybody may have been there", "who was there while no job ran is read from when the last one stopped",
    ],
)  # fmt: skip
def test_record_ends_thirty_days_after_its_client_was_there(topics: Topics, steps: list[str | int]) -> None:
    """Numbers are days that pass, in which nothing ends but before `ended`."""
    runs, ended, key = True, list[str](), ""
    for step in steps:
        match step:
            case "pushes":
                key = topics.push(1, 1)
            case "opens" | "another opens":
                topics.event(Kind.IDENTIFIED, 2, 1, principal="User:a" if step == "opens" else "User:b")
            case "closes":
                topics.event(Kind.CLOSED, 2, 1)
            case "stops" | "starts":
                runs = step == "starts"
                topics.start() if runs else topics.stop()
            case "ended":
                assert (ended, topics.alive()) == ([key], set())
                ended = []
            case int(days):
                assert ended == []
                topics.now += 0 if runs else days * DAY_MS
                ended = topics.later(days * DAY_MS) if runs else []
    assert ended == []


def test_one_without_an_instance_id_goes_a_day_after_its_connection(topics: Topics) -> None:
    topics.event(Kind.IDENTIFIED, 1)
    key = topics.push(1, None)
    for _ in range(12):
        assert topics.later(6 * HOUR) == []
        topics.event(Kind.PRESENT, 1)
    topics.event(Kind.CLOSED, 1)
    assert topics.later(23 * HOUR) == []
    assert topics.later(2 * HOUR) == [key]


def test_two_jobs_end_each_record_and_no_newer_one(topics: Topics) -> None:
    """One that was started on the same topics with a checkpoint folder of its own: it ends nothing early, and nothing that came back."""
    key = topics.push(1, 1)
    topics.later(29 * DAY_MS)
    other = Topics()
    other.now, other.configs, other.events = topics.now, topics.configs, topics.events
    other.start()
    assert other.later(2 * DAY_MS) == [], "it doesn't know who was seen before it began"
    topics.now = other.now
    topics.event(Kind.HEARTBEAT, -1)
    assert topics.later(MINUTE) == [key]
    offset, at_ms, value = topics.configs[key]
    other.read(key, offset, at_ms, value)
    assert len(other.job.kept) == 0
    assert other.later(60 * DAY_MS) == []


def test_a_clock_that_jumps_ends_nothing_early(topics: Topics) -> None:
    topics.push(1, 1)
    topics.wrong_ms = 400 * DAY_MS
    assert topics.later(MINUTE) == [], "the job's"
    topics.wrong_ms = 0
    topics.now += 400 * DAY_MS
    topics.event(Kind.HEARTBEAT, -1)
    topics.now -= 400 * DAY_MS
    topics.events.clear()
    assert topics.later(MINUTE) == [], "Kafka's, of one record"
    assert topics.later(31 * DAY_MS) != []


@pytest.mark.parametrize(
    ("wrong_ms", "age_ms", "is_known"),
    [
        (0, 59 * MINUTE, True),
        (0, 61 * MINUTE, False),
        (DAY_MS, 59 * MINUTE, True),
        (DAY_MS, 61 * MINUTE, False),
        (400 * DAY_MS, 61 * MINUTE, False),
        (-DAY_MS, 61 * MINUTE, False),
        (63 * MINUTE, 61 * MINUTE, True),
        (63 * MINUTE, 69 * MINUTE, False),
    ],
)
def test_f40_clients_are_forgotten_though_the_clock_was_set_back(topics: Topics, wrong_ms: int, age_ms: int, is_known: bool) -> None:
    """A client that isn't connected is forgotten an hour after its push; who is to be is looked for every five minutes."""
    topics.wrong_ms = wrong_ms
    topics.later(0)
    topics.wrong_ms = 0
    topics.push(1, 1)
    topics.later(age_ms)
    assert topics.job.sizes()["clients"] == is_known


def test_f29_what_the_client_says_of_the_time_is_not_asked(topics: Topics) -> None:
    """F29: the record's own time may be 1970 or 2100; Kafka's counts."""
    keys = {topics.push(number, number, received_ms=at) for number, at in enumerate((0, -1, 4_102_444_800_000), 1)}
    assert topics.later(29 * DAY_MS) == []
    assert set(topics.later(2 * DAY_MS)) == keys


def test_where_nothing_was_noted_a_job_ends_nothing_early() -> None:
    topics = Topics()
    key = topics.push(1, 1)
    topics.now += 29 * DAY_MS
    topics.start()
    assert topics.later(29 * DAY_MS) == []
    assert topics.later(2 * DAY_MS) == [key]


def test_the_jobs_own_tombstone_does_not_take_a_client_along_that_came_back_meanwhile(topics: Topics) -> None:
    key = topics.push(1, 1)
    topics.job.ended([key], topics.now)
    topics.push(2, 1)
    topics.read(key, 99, topics.now, None)
    assert (len(topics.job.kept), topics.job.sizes()["clients"]) == (1, 1)


def test_a_tombstone_of_a_person_is_followed(topics: Topics) -> None:
    """`clientscope history erase`: nothing is known of the client any more, and nobody writes a second one."""
    key = topics.push(1, 1)
    topics.append(key, None)
    assert len(topics.job.kept) == 0 and topics.job.sizes()["clients"] == 0
    assert topics.later(60 * DAY_MS) == []


def test_a_tombstone_of_no_client_is_passed_over() -> None:
    strange = (b"\xff", None, b"x" * 2_000, b"gw/1/2")
    assert tombstones((NOW, key) for key in strange) == [Erased("gw/1/2", 0, 3, NOW)]


def test_f44_one_principal_has_so_many_records_and_no_more_and_takes_none_of_others(
    topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MOST_OF_ONE", 10)
    victims = {topics.push(number, number, principal="User:victim") for number in range(1, 5)}
    topics.event(Kind.IDENTIFIED, 999, 999, principal="User:mallory")
    running = topics.push(999, 999, principal="User:mallory")
    for first in (1_000, 2_000):
        for number in range(first, first + 20):
            topics.push(number, number, principal="User:mallory")
            topics.now += SECOND
        topics.later(2 * MINUTE)
        assert victims < topics.alive() and running in topics.alive(), "nor of a client that is connected"
        assert 0 < len(topics.alive() - victims) <= 11
    assert left_out(topics.job)["records"] >= 10, "which is reported"


def test_f44_all_together_have_so_many_records_and_no_more(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "MOST_KEPT", 13)
    victims = {topics.push(number, number, principal="User:victim") for number in range(1, 5)}
    for number in range(1_000, 1_020):
        topics.push(number, number, principal=None, address=f"10.0.{number % 100}.1")
        topics.now += SECOND
    topics.later(2 * MINUTE)
    assert victims < topics.alive() and len(topics.alive()) <= 13
    assert left_out(topics.job)["records"] >= 11
