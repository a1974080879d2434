"""session/telemetry: who is asked, when a client may ask and push, and a subscription's id (KIP-714)."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from golden import cases
from hypothesis import given
from hypothesis import strategies as st
from telemetry_frames import ID

from clientscope.commands.gateway import GatewaySettings
from clientscope.session.state import Identity
from clientscope.session.telemetry import MAX_BYTES, NOTHING_ASKED, Subscription, Telemetry, TelemetryPlan, survives
from clientscope.wire.codes import (
    INVALID_REQUEST,
    NONE,
    TELEMETRY_TOO_LARGE,
    THROTTLING_QUOTA_EXCEEDED,
    UNKNOWN_SUBSCRIPTION_ID,
    UNSUPPORTED_COMPRESSION_TYPE,
)
from clientscope.wire.telemetry import GZIP, NO_ID, UNCOMPRESSED, ZSTD, PushedMetrics

ALL = Subscription(("*",), 60_000)
WHO = Identity("orders-1", "apache-kafka-java", "4.4.0", principal="User:alice")


class Clock:
    """Seconds, as they are set."""

    now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def telemetry(clock: Clock) -> Telemetry:
    return Telemetry(TelemetryPlan(ALL), lambda: ID, clock)


def push(**changes: object) -> PushedMetrics:
    return replace(PushedMetrics(ID, ALL.id_of(ID), False, GZIP, b"metrics"), **changes)


@pytest.mark.parametrize(("asked", "name", "version"), cases(__file__, "asked.txt"))
def test_asks_java_without_the_slow_close_librdkafka_without_the_aborts_and_nobody_else(asked: str, name: str, version: str) -> None:
    assert survives(name, version) is (asked == "asked")


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_names_are_answered(name: str, version: str) -> None:
    assert survives(name, version) in (True, False)


def test_a_push_is_taken_once_an_interval(telemetry: Telemetry, clock: Clock) -> None:
    telemetry.subscribe(NO_ID, WHO)
    assert telemetry.take(push(), WHO) == NONE, "at once after the question: clients spread their first push"
    clock.now_s += 59
    assert telemetry.take(push(), WHO) == THROTTLING_QUOTA_EXCEEDED
    clock.now_s += 1
    assert telemetry.take(push(), WHO) == NONE


@pytest.mark.parametrize(
    ("changes", "error"),
    [({"subscription_id": 5}, UNKNOWN_SUBSCRIPTION_ID), ({"compression": ZSTD}, UNSUPPORTED_COMPRESSION_TYPE)],
)  # fmt: skip
def test_a_client_may_ask_again_at_once_after_an_error_that_asks_it_to(
    telemetry: Telemetry, changes: dict[str, object], error: int
) -> None:
    telemetry.subscribe(ID, WHO)
    assert telemetry.take(push(**changes), WHO) == error
    assert telemetry.subscribe(ID, WHO) == (ID, ALL)
    assert telemetry.subscribe(ID, WHO) == (ID, None), "once"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"instance_id": NO_ID}, INVALID_REQUEST),
        ({"instance_id": uuid.UUID(int=1)}, INVALID_REQUEST),
        ({"compression": UNCOMPRESSED}, NONE),
        ({"compression": 9}, UNSUPPORTED_COMPRESSION_TYPE),
        ({"metrics": bytes(MAX_BYTES)}, NONE),
        ({"metrics": bytes(MAX_BYTES + 1)}, TELEMETRY_TOO_LARGE),
        ({"metrics": b""}, NONE),
    ],
)
def test_a_push_gets_the_error_that_a_broker_gives(telemetry: Telemetry, changes: dict[str, object], error: int) -> None:
    assert telemetry.take(push(**changes), WHO) == error


def test_a_last_push_that_was_refused_may_come_again(telemetry: Telemetry) -> None:
    """KAFKA-20898."""
    assert telemetry.take(push(terminating=True, compression=9), WHO) == UNSUPPORTED_COMPRESSION_TYPE
    assert telemetry.take(push(terminating=True), WHO) == NONE


def test_what_is_asked_changes_while_it_runs(telemetry: Telemetry) -> None:
    telemetry.subscribe(ID, WHO)
    assert telemetry.take(push(), WHO) == NONE
    less = Subscription(("org.apache.kafka.producer.",), 10_000)
    telemetry.plan = TelemetryPlan(less)
    assert telemetry.take(push(), WHO) == UNKNOWN_SUBSCRIPTION_ID
    assert telemetry.subscribe(ID, WHO) == (ID, less), "at once: the client is to have the new one"
    assert telemetry.take(push(subscription_id=less.id_of(ID)), WHO) == NONE


@pytest.mark.parametrize(
    ("plan", "asked"),
    [
        (TelemetryPlan(ALL), True),
        (TelemetryPlan(ALL, client_id="billing-*"), False),
        (TelemetryPlan(ALL, client_id="orders-*", principal="User:a*", software="*java"), True),
        (TelemetryPlan(ALL, principal="User:bob"), False),
        (TelemetryPlan(ALL, software="librdkafka"), False),
    ],
)
def test_a_client_that_is_not_meant_is_asked_for_nothing(plan: TelemetryPlan, asked: bool) -> None:
    assert Telemetry(plan).subscribe(ID, WHO) == (ID, ALL if asked else NOTHING_ASKED)


def test_the_settings_make_a_plan() -> None:
    def subscription(text: str) -> Subscription:
        return TelemetryPlan.of(GatewaySettings(client_telemetry_metrics=text, client_telemetry_interval_ms=5_000)).subscription

    assert subscription("*") == subscription("a., *") == Subscription(("*",), 5_000)
    assert subscription(" a.,b. ,") == Subscription(("a.", "b."), 5_000)
    assert subscription("").prefixes == ()
