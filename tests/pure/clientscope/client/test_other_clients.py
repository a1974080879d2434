"""aiokafka's and confluent-kafka's wrappers without a usable broker: they never block a client, and leave nothing behind."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import aiokafka.errors
import confluent_kafka
import confluent_kafka.admin
import pytest
from scripted_broker import SILENT, ScriptedBroker, error

from clientscope.client import aiokafka as pushing_aiokafka
from clientscope.client import confluent_kafka as pushing_confluent
from clientscope.client import other_clients
from clientscope.client.other_clients import InstanceId
from clientscope.client.push import PushOutcome
from clientscope.errors import SettingsError
from clientscope.local.process import free_port
from clientscope.wire.codes import API_VERSIONS

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # kafka-python's, of a connection that was refused


class SilentBroker(ScriptedBroker):
    """Takes connections, and answers nothing."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        super().__init__()

    def answer(self, request: Any) -> Any:
        self.asked.set()
        return SILENT if request.API_KEY == API_VERSIONS else super().answer(request)


@pytest.fixture
def silent() -> Iterator[SilentBroker]:
    with SilentBroker() as server:
        yield server
        server.shutdown()


@pytest.fixture
def answering() -> Iterator[ScriptedBroker]:
    with ScriptedBroker() as server:
        yield server
        server.shutdown()


@pytest.fixture
def dead() -> str:
    return f"127.0.0.1:{free_port()}"


def pushes() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "clientscope-push"]


@pytest.fixture(autouse=True)
def none_is_left() -> Iterator[None]:
    assert pushes() == []
    yield
    for thread in pushes():
        thread.join(5)
    assert pushes() == []


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == "clientscope.client" and r.levelno >= logging.WARNING]


def rd(address: str, **more: Any) -> dict[str, Any]:
    return {"bootstrap.servers": address, "log_level": 0, **{name.replace("_", "."): value for name, value in more.items()}}


def test_a_dead_broker_does_not_hold_librdkafka_up(dead: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_clients, "FIRST_USE_S", 300.0)
    producer = pushing_confluent.Producer(rd(dead))
    producer.produce("t", b"a")
    assert len(pushes()) == 1, "it goes on trying"
    assert len(producer) >= 1, "so does librdkafka"
    producer.purge()
    producer.close()


def test_a_silent_broker_holds_librdkafka_up_once_and_no_longer(silent: SilentBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_clients, "FIRST_USE_S", 0.2)
    waits: list[float | None] = []
    wait = other_clients.concurrent.futures.wait  # type: ignore[attr-defined]

    def counted(futures: Any, timeout: float | None) -> Any:
        waits.append(timeout)
        return wait(futures, timeout)

    monkeypatch.setattr(other_clients.concurrent.futures, "wait", counted)  # type: ignore[attr-defined]
    producer = pushing_confluent.Producer(rd(silent.address))
    assert waits == [], "the constructor doesn't wait"
    for _ in range(3):
        producer.produce("t", b"a")
    assert waits == [0.2]
    producer.purge()
    producer.close()


def test_the_timeout_ends_it(dead: str, caplog: pytest.LogCaptureFixture) -> None:
    pushing_confluent.AdminClient(rd(dead, default_api_timeout_ms=300))
    for thread in pushes():
        thread.join(10)
    assert warnings(caplog) == [
        "configuration not pushed, the client continues without: timed out after 0.3 s; "
        "the last error was KafkaConnectionError: '111 ECONNREFUSED'"
    ]


def test_a_client_that_is_gone_is_not_kept_by_its_push(silent: SilentBroker) -> None:
    gone = threading.Event()

    class Noticed(pushing_confluent.AdminClient):
        def __del__(self) -> None:
            gone.set()

    client = Noticed(rd(silent.address, default_api_timeout_ms=1500))
    del client
    assert gone.is_set()


def test_an_unusable_configuration_is_logged_and_the_client_continues(dead: str, caplog: pytest.LogCaptureFixture) -> None:
    conf = rd(dead, security_protocol="SASL_PLAINTEXT", sasl_mechanism="OAUTHBEARER")
    with_token = pushing_confluent.Producer(conf)
    with_token.produce("t", b"a")
    (said,) = warnings(caplog)
    assert "OAUTHBEARER without oauth_cb" in said
    assert "set sasl.oauthbearer.method=oidc" in said
    with_token.purge()


def test_a_push_without_an_address_is_no_push_to_this_machine() -> None:
    with pytest.raises(SettingsError, match=r"bootstrap\.servers"):
        pushing_confluent.push_config({"acks": "all"}, "producer")


def shapes(address: str) -> list[Callable[[], Any]]:
    conf = rd(address, enable_config_push=True, config_push_allowed_keys="acks", default_api_timeout_ms="100")
    logger = logging.getLogger("shapes")
    return [
        lambda: pushing_confluent.Producer(conf),
        lambda: pushing_confluent.Producer(conf, logger=logger),
        lambda: pushing_confluent.Producer(**conf),
        lambda: pushing_confluent.Consumer({**conf, "group.id": "g"}),
        lambda: pushing_confluent.SerializingProducer(conf),
        lambda: pushing_confluent.SerializingProducer(conf=conf),
        lambda: pushing_confluent.DeserializingConsumer({**conf, "group.id": "g"}),
        lambda: pushing_confluent.AdminClient(conf),
        lambda: pushing_confluent.AdminClient(conf=conf) if _takes_conf_by_name() else None,
    ]


@functools.cache
def _takes_conf_by_name() -> bool:
    try:
        confluent_kafka.admin.AdminClient(conf={"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
    except (TypeError, confluent_kafka.KafkaException):
        return False
    return True


@pytest.mark.parametrize("number", range(9))
def test_our_settings_come_out_however_the_configuration_comes(dead: str, number: int) -> None:
    client = shapes(dead)[number]()
    assert client is None or client.client_instance_id is not None


@pytest.mark.parametrize("wrong", [{"enable.config.push": "maybe"}, {"default.api.timeout.ms": "soon"}, {"default.api.timeout.ms": -1}])
def test_wrong_settings_of_ours_are_refused(dead: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        pushing_confluent.Producer({**rd(dead), **wrong})


def test_settings_that_librdkafka_refuses_are_still_refused_and_nothing_is_pushed(dead: str) -> None:
    with pytest.raises(confluent_kafka.KafkaException, match="nonsense"):
        pushing_confluent.Producer(rd(dead, nonsense=1))
    assert pushes() == []


def test_disabled_starts_no_thread_and_costs_nothing(dead: str) -> None:
    client = pushing_confluent.Producer(rd(dead, enable_config_push="false"))
    assert (client.client_instance_id, pushes()) == (None, [])
    assert client.produce.__qualname__ == confluent_kafka.Producer.produce.__qualname__


def test_after_the_first_use_calls_are_librdkafkas_own(dead: str) -> None:
    class Counting(pushing_confluent.Producer):
        produced = 0

        def produce(self, *args: Any, **kwargs: Any) -> None:
            self.produced += 1
            super().produce(*args, **kwargs)

    client = Counting(rd(dead))
    assert isinstance(client, Counting)
    assert type(client).__name__ == "Counting"
    for _ in range(2):
        client.produce("t", b"a")
    assert (type(client), client.produced) == (Counting, 2)
    client.purge()
    client.close()


def test_threads_that_come_at_once_all_wait_and_all_produce(silent: SilentBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_clients, "FIRST_USE_S", 0.3)
    client = pushing_confluent.Producer(rd(silent.address))
    threads = [threading.Thread(target=client.produce, args=("t", b"a")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(client) >= 8
    assert type(client) is pushing_confluent.Producer
    client.purge()
    client.close()


def test_a_forked_process_is_another_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = InstanceId()
    first = instance.value
    assert (first.version, instance.value) == (4, first)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert instance.value != first
    assert instance.value == instance.value


def run(work: Any) -> Any:
    return asyncio.run(asyncio.wait_for(work, 30))


def test_aiokafka_still_fails_without_a_broker(dead: str) -> None:
    async def start() -> None:
        producer = pushing_aiokafka.AIOKafkaProducer(bootstrap_servers=dead)
        try:
            with pytest.raises(aiokafka.errors.KafkaConnectionError):
                await producer.start()
            assert len(pushes()) == 1, "it goes on trying: the client may be started again"
            with pytest.raises(aiokafka.errors.KafkaConnectionError):
                await producer.start()
            assert len(pushes()) == 1, "and there is one"
        finally:
            await producer.stop()

    run(start())


def test_aiokafkas_start_can_be_cancelled(silent: SilentBroker) -> None:
    async def cancelled() -> None:
        producer = pushing_aiokafka.AIOKafkaProducer(bootstrap_servers=silent.address)
        starting = asyncio.create_task(producer.start())
        assert await asyncio.to_thread(silent.asked.wait, 10)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        await producer.stop()

    run(cancelled())


def test_aiokafkas_push_config_can_be_cancelled(silent: SilentBroker) -> None:
    async def cancelled() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(pushing_aiokafka.push_config({"bootstrap_servers": silent.address}, "producer", timeout_s=300), 0.2)

    run(cancelled())


def test_aiokafka_waits_no_longer_than_it_should(silent: SilentBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_clients, "FIRST_USE_S", 0.2)

    async def start() -> int:
        producer = pushing_aiokafka.AIOKafkaProducer(bootstrap_servers=silent.address, request_timeout_ms=400)
        with pytest.raises(aiokafka.errors.KafkaError):
            await producer.start()
        left = len(pushes())
        await producer.stop()
        return left

    assert run(start()) == 1, "the push was still under way"


def test_aiokafka_without_a_push(dead: str) -> None:
    async def start() -> Any:
        producer = pushing_aiokafka.AIOKafkaProducer(bootstrap_servers=dead, enable_config_push=False)
        with pytest.raises(aiokafka.errors.KafkaConnectionError):
            await producer.start()
        await producer.stop()
        return producer.client_instance_id

    assert run(start()) is None
    assert pushes() == []


def test_aiokafka_with_incomplete_security_settings_still_fails(dead: str) -> None:
    async def make() -> None:
        with pytest.raises(ValueError, match="ssl_context"):
            pushing_aiokafka.AIOKafkaProducer(bootstrap_servers=dead, security_protocol="SSL")

    run(make())


def test_the_loop_keeps_running_while_it_pushes(answering: ScriptedBroker) -> None:
    answering.script = [error(89, throttle_ms=300)]

    async def push() -> tuple[PushOutcome, int]:
        ticks = 0
        pushing = asyncio.create_task(pushing_aiokafka.push_config({"bootstrap_servers": answering.address}, "producer"))
        while not pushing.done():
            await asyncio.sleep(0.01)
            ticks += 1
        return pushing.result().outcome, ticks

    outcome, ticks = run(push())
    assert outcome is PushOutcome.PUSHED
    assert ticks > 3


def test_importing_the_client_imports_neither_optional_package() -> None:
    code = """
import sys
import clientscope.client.push, clientscope.client.connection_settings
print({"aiokafka", "confluent_kafka"} & set(sys.modules))
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "set()"


@pytest.mark.parametrize(("module", "package"), [("aiokafka", "aiokafka"), ("confluent_kafka", "confluent-kafka")])
def test_a_missing_package_is_named(module: str, package: str) -> None:
    code = f"""
import sys
sys.modules[{module!r}] = None
from clientscope.errors import ClientscopeError
try:
    import clientscope.client.{module}
except ClientscopeError as error:
    print(error.hint)
"""
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == f"pip install {package}"
    )


def said(server: ScriptedBroker) -> list[list[tuple[int, str, Any]]]:
    """What came in ApiVersions requests, by connection."""
    return [
        [(each.API_VERSION, each.client_software_name, each.client_instance_id) for each in requests if each.API_KEY == API_VERSIONS]
        for requests in server.connections
    ]


def start_admin(server: ScriptedBroker, **settings: Any) -> Any:
    """Starts and closes one; its id."""

    async def start() -> Any:
        admin = pushing_aiokafka.AIOKafkaAdminClient(bootstrap_servers=server.address, **settings)
        await admin.start()
        await admin.list_topics()
        await admin.close()
        return admin.client_instance_id

    return run(start())


def test_aiokafkas_own_connections_say_which_instance_they_are_of(answering: ScriptedBroker) -> None:
    answering.keys = {**answering.keys, 3: 5}  # what aiokafka has of Metadata
    instance_id = start_admin(answering)
    pushing, *own = said(answering)
    assert pushing == [(4, "aiokafka", instance_id)]
    assert len(own) >= 2
    assert {request for requests in own for request in requests if request[0] > 0} == {(3, "aiokafka", instance_id)}


def test_aiokafkas_own_connections_fall_back_where_a_broker_lacks_v3(answering: ScriptedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    answering.keys = {**answering.keys, 3: 5}
    answered = answering.answer

    def old(request: Any) -> Any:
        if request.API_KEY == API_VERSIONS and request.API_VERSION >= 3:
            answering.refusals = [(35, 2)]
        return answered(request)

    monkeypatch.setattr(answering, "answer", old)
    instance_id = start_admin(answering, config_push_allowed_keys=["no.such.key"])
    own = said(answering)
    assert instance_id is not None
    assert own[0][:2] == [(3, "aiokafka", instance_id), (0, "", None)]


def test_aiokafka_disabled_says_nothing(answering: ScriptedBroker) -> None:
    answering.keys = {**answering.keys, 3: 5}
    assert start_admin(answering, enable_config_push=False) is None
    assert {request for requests in said(answering) for request in requests} == {(0, "", None)}


INVALID = [
    ("default_api_timeout_ms", "abc"), ("default_api_timeout_ms", 0), ("default_api_timeout_ms", -1), ("default_api_timeout_ms", None),
    ("default_api_timeout_ms", True), ("default_api_timeout_ms", float("nan")), ("default_api_timeout_ms", 2**31),
    ("default_api_timeout_ms", [1]), ("config_push_allowed_keys", 5), ("config_push_allowed_keys", [1, "acks"]),
    ("enable_config_push", "maybe"), ("enable_config_push", 2),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), INVALID)
def test_invalid_settings_of_ours_are_refused_by_each_client(dead: str, name: str, value: Any) -> None:
    async def make_aiokafka(client_class: Any) -> None:
        client_class(bootstrap_servers=dead, **{name: value})

    dotted = name.replace("_", ".")
    conf = {**rd(dead), "group.id": "g", dotted: value}
    for client_class in (pushing_aiokafka.AIOKafkaProducer, pushing_aiokafka.AIOKafkaConsumer, pushing_aiokafka.AIOKafkaAdminClient):
        with pytest.raises(SettingsError, match=name) as raised:
            run(make_aiokafka(client_class))
        assert raised.value.hint
    for client_class in (pushing_confluent.Producer, pushing_confluent.Consumer, pushing_confluent.AdminClient):
        with pytest.raises(SettingsError, match=dotted) as raised:
            client_class(conf)
        assert raised.value.hint
    for push in (
        lambda: pushing_confluent.push_config(conf, "producer"),
        lambda: run(pushing_aiokafka.push_config({"bootstrap_servers": dead, name: value}, "producer")),
    ):
        with pytest.raises(SettingsError):
            push()
    assert pushes() == []
