"""A slow push: the user's requests wait two seconds at most, and the push continues until its deadline.  On a fake clock."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from fake_clock import BrokerOnTheClock, FakeClock
from patience import until
from scripted_broker import CLOSE, METADATA, SASL, SASL_AUTHENTICATE, SASL_HANDSHAKE, SILENT, Answer, error

from clientscope.client import KafkaAdminClient, KafkaConsumer, KafkaProducer
from clientscope.wire.codes import API_VERSIONS, PUSH_CONFIG

HELD_S = 2.0
CLOCK_S = 120.0
THROTTLED = 89


class Scene:
    """Brokers on a clock, clients whose event loop is on it too, and what these log."""

    def __init__(self, clock: FakeClock, network: Mapping[str, Any], caplog: pytest.LogCaptureFixture) -> None:
        self.clock = clock
        self._network, self._caplog = network, caplog
        self.brokers: list[BrokerOnTheClock] = []
        self.clients: list[Any] = []

    def broker(self, *script: Answer, **settings: Any) -> BrokerOnTheClock:
        self.brokers.append(BrokerOnTheClock(self.clock, script=script, **settings))
        return self.brokers[-1]

    def client(self, server: BrokerOnTheClock, client_class: Any = KafkaAdminClient, **settings: Any) -> Any:
        self.clients.append(client_class(bootstrap_servers=server.address, **self._network, **settings))
        return self.clients[-1]

    def outcomes(self) -> list[str]:
        return [each.getMessage() for each in self._caplog.records if each.name == "clientscope.client" and each.levelno >= logging.INFO]

    def ended(self, limit: float = CLOCK_S) -> str:
        """The outcome that is logged, once there is one; the clock may go as far as that."""
        self.clock.limit = limit
        until(self.outcomes)
        (outcome,) = self.outcomes()
        return outcome


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Scene]:
    caplog.set_level(logging.INFO, "clientscope.client")
    clock = FakeClock(limit=HELD_S)
    scene = Scene(clock, clock.install(monkeypatch), caplog)
    yield scene
    for each in scene.clients:
        each.close()
    clock.limit = CLOCK_S
    clock.jump(CLOCK_S)
    for made in scene.brokers:
        made.close()


PUSHED = "configuration pushed: 2 settings"
NOT_PUSHED = "configuration not pushed, the client continues without: "


@pytest.mark.parametrize("seconds", [6.0, 59.0])
def test_a_slow_answer_counts_and_the_users_requests_do_not_wait_for_it(scene: Scene, seconds: float) -> None:
    server = scene.broker(seconds)
    client = scene.client(server)
    client.list_topics()
    assert 0 < scene.clock.monotonic() <= HELD_S
    assert scene.outcomes() == []
    assert scene.ended() == PUSHED
    assert scene.clock.monotonic() == pytest.approx(seconds, abs=0.5)
    assert server.orders()[:2] == [[API_VERSIONS, PUSH_CONFIG], [API_VERSIONS, METADATA]], "behind the push they would wait for it"
    assert len(server.pushes) == len(server.instance_ids) == 1
    client.close()
    assert scene.outcomes() == [PUSHED], "nothing more"


@pytest.mark.parametrize(
    ("client_class", "settings", "held_s"),
    [(KafkaProducer, {}, HELD_S), (KafkaConsumer, {}, HELD_S), (KafkaAdminClient, {"bootstrap_timeout_ms": 2_000}, 1.0)],
)
def test_no_constructor_waits_longer_for_a_push_that_nobody_answers(
    scene: Scene, client_class: Any, settings: dict[str, int], held_s: float
) -> None:
    """Half of the connection's time at most."""
    server = scene.broker(SILENT)
    scene.client(server, client_class, **settings)
    assert 0 < scene.clock.monotonic() <= held_s + 0.1
    assert len(server.pushes) == 1


@pytest.mark.parametrize("throttle_s", [3, 59])
def test_a_quota_is_waited_out_and_the_users_requests_do_not_wait_at_all(scene: Scene, throttle_s: int) -> None:
    server = scene.broker(error(THROTTLED, throttle_ms=throttle_s * 1000))
    scene.clock.limit = 0.0
    scene.client(server).list_topics()
    assert [order[:2] for order in server.orders()] == [[API_VERSIONS, PUSH_CONFIG], [API_VERSIONS, METADATA]]
    assert METADATA in server.orders()[0], "the same connection, which awaits nothing"
    assert scene.outcomes() == []
    assert scene.ended() == PUSHED
    first, second = server.push_at
    assert throttle_s <= second - first < throttle_s + 1
    assert [API_VERSIONS, PUSH_CONFIG] in server.orders()[2:], "on a connection of its own"


@pytest.mark.parametrize(
    ("script", "pushes", "reason"),
    [
        ([SILENT], 1, "timed out after 50 s"),
        ([55.0], 1, "timed out after 50 s"),
        ([error(THROTTLED, throttle_ms=16_000)] * 9, 4, "ThrottlingQuotaExceededError"),  # at 0, 16, 32 and 48 s
        ([error(THROTTLED, throttle_ms=30_000), error(40)], 2, "InvalidConfig"),
    ],
    ids=["no answer", "an answer after the deadline", "a quota for longer than the deadline", "a refusal that comes late"],
)
def test_without_success_it_ends_at_the_deadline_at_the_latest_and_once(
    scene: Scene, script: list[Answer], pushes: int, reason: str
) -> None:
    server = scene.broker(*script)
    admin = scene.client(server, default_api_timeout_ms=50_000)
    assert scene.ended().startswith(NOT_PUSHED + reason)
    assert scene.clock.monotonic() <= 50.5
    assert reason != "timed out after 50 s" or scene.clock.monotonic() >= 49.5
    admin.list_topics()
    until(lambda: scene.clock.monotonic() >= 70, why="and nothing after it")
    admin.close()
    assert (len(server.pushes), len(scene.outcomes())) == (pushes, 1)


def test_a_connection_that_is_lost_later_is_followed_by_another(scene: Scene) -> None:
    server = scene.broker(SILENT)
    scene.client(server).list_topics()
    server.close_connections()
    assert scene.ended(10.0) == PUSHED
    assert len(server.pushes) == 2


def test_while_no_node_advertises_it_any_more_it_is_tried_again(scene: Scene) -> None:
    """As behind a gateway under bypass."""
    server = scene.broker()
    advertising = server.keys
    without = {key: newest for key, newest in advertising.items() if key != PUSH_CONFIG}

    def withdraws(_: Any) -> Answer:
        server.keys = without
        del server.otherwise[PUSH_CONFIG]
        return CLOSE

    server.otherwise[PUSH_CONFIG] = withdraws
    scene.client(server).list_topics()
    assert scene.outcomes() == []
    scene.clock.limit = 20.0
    until(lambda: scene.clock.monotonic() >= 20)
    assert (len(server.pushes), scene.outcomes()) == (1, [])
    server.keys = advertising
    assert scene.ended(30.0) == PUSHED
    assert len(server.pushes) == 2


def test_another_node_takes_it_where_the_first_is_gone(scene: Scene) -> None:
    first, second = scene.broker(error(THROTTLED, throttle_ms=5_000)), scene.broker()
    first.brokers = second.brokers = {2: second.port}
    scene.client(first)
    first.close()
    assert scene.ended() == PUSHED
    assert (len(first.pushes), len(second.pushes)) == (1, 1)


def test_a_client_that_is_closed_meanwhile_logs_that_once_and_leaves_nothing_open(scene: Scene) -> None:
    scene.client(scene.broker(SILENT)).close()
    assert scene.outcomes() == [f"{NOT_PUSHED}the client was closed before it was answered"]


def test_the_second_transport_authenticates_too_and_takes_one_request_at_a_time(scene: Scene) -> None:
    server = scene.broker(6.0)
    scene.client(server, max_in_flight_requests_per_connection=1, **SASL).list_topics()
    assert scene.clock.monotonic() <= HELD_S
    assert scene.ended() == PUSHED
    authenticated = [API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE]
    assert [order[:4] for order in server.orders()[:2]] == [[*authenticated, PUSH_CONFIG], [*authenticated, METADATA]]


def test_a_request_of_the_users_to_a_slow_node_that_is_not_the_first(scene: Scene) -> None:
    old, slow = scene.broker(advertises=False), scene.broker(6.0)
    old.brokers = slow.brokers = {2: slow.port}
    scene.client(old, request_timeout_ms=3000).list_topics()
    assert scene.clock.monotonic() <= HELD_S
    assert scene.ended() == PUSHED
    assert len(slow.pushes) == 1


def test_where_no_node_advertises_it_any_more_it_ends_at_the_deadline(scene: Scene) -> None:
    server = scene.broker(error(THROTTLED, throttle_ms=3_000))
    scene.client(server, default_api_timeout_ms=8_000)
    server.keys = {key: newest for key, newest in server.keys.items() if key != PUSH_CONFIG}
    assert scene.ended() == f"{NOT_PUSHED}timed out after 8 s; the last error was a node that doesn't advertise PushConfig"
    assert scene.clock.monotonic() >= 8
