"""A slow push: the user's requests wait two seconds at most, and the push continues until its deadline.  On a fake clock."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from fake_clock import BrokerOnTheClock, FakeClock
from patience import until
from scripted_broker import CLOSE, METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE, SILENT, Answer, error

from clientscope.client import KafkaAdminClient, KafkaConsumer, KafkaProducer
from clientscope.wire.codes import API_VERSIONS, PUSH_CONFIG

HELD_S = 2.0
DEADLINE_S = 60.0
CLOCK_S = 120.0
THROTTLED = 89
SASL = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": "ops",
    "sasl_plain_password": "canary-password-90aa",
}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(limit=HELD_S)


Brokers = Callable[..., BrokerOnTheClock]


@pytest.fixture
def broker(clock: FakeClock) -> Iterator[Brokers]:
    brokers: list[BrokerOnTheClock] = []

    def make(*script: Answer, **settings: Any) -> BrokerOnTheClock:
        brokers.append(BrokerOnTheClock(clock, script=script, **settings))
        return brokers[-1]

    yield make
    clock.limit = CLOCK_S
    clock.jump(CLOCK_S)
    for made in brokers:
        made.close()


Make = Callable[..., Any]


@pytest.fixture
def client(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes clients whose event loop is on the clock."""
    network = clock.install(monkeypatch)
    made: list[Any] = []

    def make(server: BrokerOnTheClock, client_class: Any = KafkaAdminClient, **settings: Any) -> Any:
        made.append(client_class(bootstrap_servers=server.address, **network, **settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


def outcomes(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "clientscope.client" and record.levelno >= logging.INFO]


@pytest.fixture(autouse=True)
def all_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "clientscope.client")


def ended(caplog: pytest.LogCaptureFixture) -> str:
    """The outcome that is logged, once there is one."""
    until(lambda: outcomes(caplog))
    (outcome,) = outcomes(caplog)
    return outcome


PUSHED = "configuration pushed: 2 settings"
NOT_PUSHED = "configuration not pushed, the client continues without: "


@pytest.mark.parametrize("seconds", [6.0, 59.0])
def test_a_slow_answer_counts_and_the_users_requests_do_not_wait_for_it(
    clock: FakeClock, broker: Brokers, client: Make, caplog: pytest.LogCaptureFixture, seconds: float
) -> None:
    server = broker(seconds)
    admin = client(server)
    admin.list_topics()
    assert 0 < clock.monotonic() <= HELD_S
    assert outcomes(caplog) == []
    clock.limit = CLOCK_S
    assert ended(caplog) == PUSHED
    assert clock.monotonic() == pytest.approx(seconds, abs=0.5)
    assert server.orders()[:2] == [[API_VERSIONS, PUSH_CONFIG], [API_VERSIONS, METADATA]], "behind the push they would wait for it"
    assert len(server.pushes) == 1
    assert len(server.instance_ids) == 1


@pytest.mark.parametrize(
    ("client_class", "settings", "held_s"),
    [(KafkaProducer, {}, HELD_S), (KafkaConsumer, {}, HELD_S), (KafkaAdminClient, {"bootstrap_timeout_ms": 2_000}, 1.0)],
)
def test_no_constructor_waits_longer_for_a_push_that_nobody_answers(
    clock: FakeClock, broker: Brokers, client: Make, client_class: Any, settings: dict[str, int], held_s: float
) -> None:
    """Half of the connection's time at most."""
    server = broker(SILENT)
    client(server, client_class, **settings)
    assert 0 < clock.monotonic() <= held_s + 0.1
    assert len(server.pushes) == 1


@pytest.mark.parametrize("throttle_s", [3, 59])
def test_a_quota_is_waited_out_and_the_users_requests_do_not_wait_at_all(
    clock: FakeClock, broker: Brokers, client: Make, caplog: pytest.LogCaptureFixture, throttle_s: int
) -> None:
    server = broker(error(THROTTLED, throttle_ms=throttle_s * 1000))
    clock.limit = 0.0
    admin = client(server)
    admin.list_topics()
    assert [order[:2] for order in server.orders()] == [[API_VERSIONS, PUSH_CONFIG], [API_VERSIONS, METADATA]]
    assert METADATA in server.orders()[0], "the same connection, which awaits nothing"
    assert outcomes(caplog) == []
    clock.limit = CLOCK_S
    assert ended(caplog) == PUSHED
    first, second = server.push_at
    assert throttle_s <= second - first < throttle_s + 1
    assert [API_VERSIONS, PUSH_CONFIG] in server.orders()[2:], "on a connection of its own"


def test_a_quota_for_longer_than_the_deadline_ends_it_once(
    clock: FakeClock, broker: Brokers, client: Make, caplog: pytest.LogCaptureFixture
) -> None:
    server = broker(*[error(THROTTLED, throttle_ms=16_000)] * 9)
    client(server)
    clock.limit = CLOCK_S
    assert ended(caplog).startswith(f"{NOT_PUSHED}ThrottlingQuotaExceededError")
    assert len(server.pushes) == 4, "at 0, 16, 32 and 48 s"
    assert clock.monotonic() < DEADLINE_S


@pytest.mark.parametrize("answer", [SILENT, 25.0], ids=["none", "after the deadline"])
def test_without_an_answer_it_ends_at_the_deadline_and_once(
    clock: FakeClock, broker: Brokers, client: Make, caplog: pytest.LogCaptureFixture, answer: Answer
) -> None:
    server = broker(answer)
    admin = client(server, default_api_timeout_ms=20_000)
    clock.limit = CLOCK_S
    assert ended(caplog) == f"{NOT_PUSHED}timed out after 20 s"
    assert clock.monotonic() == pytest.approx(20, abs=0.5)
    admin.list_topics()
    until(lambda: clock.monotonic() >= 40, why="and nothing after it")
    assert (len(server.pushes), len(outcomes(caplog))) == (1, 1)


def test_a_connection_that_is_lost_later_is_followed_by_another(
    clock: FakeClock, broker: Brokers, client: Make, caplog: pytest.LogCaptureFixture
) -> None:
    server = broker(SILENT)
    admin = client(server)
    admin.list_topics()
    server.close_connections()
    clock.limit = 10.0
    assert ended(caplog) == PUSHED
    assert len(server.pushes) == 2


def test_a_refusal_that_comes_late_is_logged_once(
    clock: FakeClock, broker: Brokers, client: Make, caplog: pytest.LogCaptureFixture
) -> None:
    server = broker(error(THROTTLED, throttle_ms=30_000), error(40))
    client(server)
    clock.limit = CLOCK_S
    assert ended(caplog).startswith(f"{NOT_PUSHED}InvalidConfig")


def test_while_no_node_advertises_it_any_more_it_is_tried_again(
    clock: FakeClock, broker: Brokers, client: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """As behind a gateway under bypass."""
    server = broker(CLOSE)
    advertising = server.keys
    without = {key: newest for key, newest in advertising.items() if key != PUSH_CONFIG}
    answered = server.answer

    def answer(request: Any) -> Any:
        got = answered(request)
        if request.API_KEY == PUSH_CONFIG and got is CLOSE:
            server.keys = without
        return got

    server.answer = answer  # type: ignore[method-assign]
    clock.limit = HELD_S
    admin = client(server)
    admin.list_topics()
    assert outcomes(caplog) == []
    clock.limit = 20.0
    until(lambda: clock.monotonic() >= 20)
    assert (len(server.pushes), outcomes(caplog)) == (1, [])
    server.keys = advertising
    clock.limit = 30.0
    assert ended(caplog) == PUSHED
    assert len(server.pushes) == 2


def test_another_node_takes_it_where_the_first_is_gone(
    clock: FakeClock, broker: Brokers, client: Make, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = broker(error(THROTTLED, throttle_ms=5_000)), broker()
    first.brokers = second.brokers = {2: second.port}
    client(first)
    first.close()
    clock.limit = CLOCK_S
    assert ended(caplog) == PUSHED
    assert (len(first.pushes), len(second.pushes)) == (1, 1)


def test_a_client_that_is_closed_meanwhile_logs_that_once_and_leaves_nothing_open(
    broker: Brokers, client: Make, caplog: pytest.LogCaptureFixture
) -> None:
    server = broker(SILENT)
    admin = client(server)
    admin.close()
    assert outcomes(caplog) == [f"{NOT_PUSHED}the client was closed before it was answered"]


def test_the_second_transport_authenticates_too_and_takes_one_request_at_a_time(
    clock: FakeClock, broker: Brokers, client: Make, caplog: pytest.LogCaptureFixture
) -> None:
    server = broker(6.0)
    admin = client(server, max_in_flight_requests_per_connection=1, **SASL)
    admin.list_topics()
    assert clock.monotonic() <= HELD_S
    clock.limit = CLOCK_S
    assert ended(caplog) == PUSHED
    authenticated = [API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE]
    assert [order[:4] for order in server.orders()[:2]] == [[*authenticated, PUSH_CONFIG], [*authenticated, METADATA]]


def test_a_request_of_the_users_to_a_slow_node_that_is_not_the_first(
    clock: FakeClock, broker: Brokers, client: Make, caplog: pytest.LogCaptureFixture
) -> None:
    old, slow = broker(advertises=False), broker(6.0)
    old.brokers = slow.brokers = {2: slow.port}
    with closing(client(old, request_timeout_ms=3000)) as admin:
        admin.list_topics()
        assert clock.monotonic() <= HELD_S
        clock.limit = CLOCK_S
        assert ended(caplog) == PUSHED
    assert len(slow.pushes) == 1


def test_where_no_node_advertises_it_any_more_it_ends_at_the_deadline(
    clock: FakeClock, broker: Brokers, client: Make, caplog: pytest.LogCaptureFixture
) -> None:
    server = broker(error(THROTTLED, throttle_ms=3_000))
    client(server, default_api_timeout_ms=8_000)
    server.keys = {key: newest for key, newest in server.keys.items() if key != PUSH_CONFIG}
    clock.limit = CLOCK_S
    assert ended(caplog) == f"{NOT_PUSHED}timed out after 8 s; the last error was a node that doesn't advertise PushConfig"
    assert clock.monotonic() >= 8


@pytest.mark.parametrize("script", [(), (error(40),), (6.0,)])
def test_closing_the_client_after_the_end_logs_nothing_more(
    clock: FakeClock, broker: Brokers, client: Make, caplog: pytest.LogCaptureFixture, script: tuple[Answer, ...]
) -> None:
    admin = client(broker(*script))
    clock.limit = CLOCK_S
    outcome = ended(caplog)
    admin.close()
    assert outcomes(caplog) == [outcome]
