"""Progress of deliveries to each receiver: records of ``clientscope.deliveries`` and ``clientscope.deadletter``.

A compacted record per receiver and finding, not a consumer group's commits: an offset is one number for all receivers, so a receiver that
is dead for a day would hold it back for all or lose what it missed; and where a topic is compacted, an offset doesn't say what a
receiver knows.  A message is recorded (`DeliveryPlan`) before it is first sent, so that after a kill the same is sent under the same id.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal

from pydantic import Field

from clientscope.topic_values import Count, Name, Sentence, Value

Status = Literal["firing", "ended"]

MOST_MEMBERS = 20_000
"""Findings of one message; some 40 bytes each, in a record of at most a megabyte."""

MOST_TIMES = 10


class LastDelivery(Value):
    """The last delivery to a receiver about a finding.

    Attributes:
        number: of `clientscope.findings.record.Alert`.
        status: ``dead`` where it was given up.
        group: of the message that said it.
        times_ms: when it was reported as firing, the newest `MOST_TIMES`.
    """

    receiver: Name
    fingerprint: Name
    number: Count
    status: Literal["firing", "ended", "dead"]
    message_id: Name
    group: Name = ""
    at_ms: int
    times_ms: Annotated[list[int], Field(max_length=MOST_TIMES, default_factory=list)]

    @property
    def key(self) -> str:
        """The record's key."""
        return last_delivery_key(self.receiver, self.fingerprint)


class DeliveryPlan(Value):
    """A message that is to be sent.

    Attributes:
        members: (fingerprint, number of its alert) of each finding in it.
    """

    receiver: Name
    id: Name
    status: Status
    group: Name = ""
    members: Annotated[list[tuple[Name, int]], Field(max_length=MOST_MEMBERS)]
    created_ms: int

    @property
    def key(self) -> str:
        """The record's key."""
        return _key("plan", self.receiver, self.id)


class Disabled(Value):
    """A receiver that wants no more messages (410)."""

    receiver: Name
    reason: Sentence
    at_ms: int

    @property
    def key(self) -> str:
        """The record's key."""
        return _key("disabled", self.receiver)


class Request(Value):
    """A person wants messages sent once more (``clientscope deliver dead replay``); deliver makes plans of it, and then deletes it."""

    receiver: Name
    plans: Annotated[list[DeliveryPlan], Field(max_length=1_000, default_factory=list)]
    at_ms: int

    @property
    def key(self) -> str:
        """The record's key."""
        return _key("request", self.receiver, *(plan.id for plan in self.plans[:1]))


class DeadLetter(Value):
    """A message that was given up: a record of ``clientscope.deadletter``.  Its text is made anew when it is replayed.

    Attributes:
        subject: its first line, for people.
        reason: of the last attempt.
    """

    receiver: Name
    id: Name
    status: Status
    group: Name = ""
    members: Annotated[list[tuple[Name, int]], Field(max_length=MOST_MEMBERS)]
    subject: Sentence = ""
    reason: Sentence
    attempts: Count
    created_ms: int
    at_ms: int

    def plan(self) -> DeliveryPlan:
        """The same message, to be sent again."""
        return DeliveryPlan(
            receiver=self.receiver, id=self.id, status=self.status, group=self.group, members=self.members, created_ms=self.created_ms
        )


def last_delivery_key(receiver: str, fingerprint: str) -> str:
    """The key of a `LastDelivery` record."""
    return _key("told", receiver, fingerprint)


def kind_of(key: str) -> str:
    """The kind of a record of ``clientscope.deliveries``, by its key: ``told``, ``plan``, ``disabled`` or ``request``; empty if unknown."""
    try:
        parts = json.loads(key)
    except ValueError:
        return ""
    return str(parts[0]) if isinstance(parts, list) and parts else ""


def message_id(receiver: str, status: Status, members: list[tuple[str, int]]) -> str:
    """The idempotency key: the same for the same alerts of the same findings to the same receiver."""
    text = json.dumps([receiver, status, sorted(members)], separators=(",", ":"))
    return "msg_" + hashlib.sha256(b"clientscope message 1\0" + text.encode()).hexdigest()[:32]


def group_name(status: Status, values: tuple[str, ...]) -> str:
    """A group, by a name of bounded length."""
    text = json.dumps([status, *values], separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _key(*parts: str) -> str:
    return json.dumps(parts, separators=(",", ":"))
