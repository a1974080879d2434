"""``clientscope api-versions`` against a real broker: its output, and the note on a broker that can't be asked."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from conftest import RunningBroker
from forked import clientscope
from kafka.net.manager import KafkaConnectionManager
from patience import LIMIT_S

from clientscope.catalog.releases import infer, releases
from clientscope.client.raw import RawClient
from clientscope.cluster.api_versions import AnswerState, ask
from clientscope.wire.frames import REQUEST_HEAD


def run(*flags: str, columns: int = 100, status: int = 0) -> str:
    ended = clientscope("api-versions", *flags, COLUMNS=str(columns))
    assert ended.returncode == status, ended.stderr
    return ended.stdout if status == 0 else ended.stderr


@contextmanager
def fake_broker(address: str, broker: str, newest: int) -> Iterator[list[int]]:
    """Listens where the broker says that it is; passes requests on, but closes at ApiVersions above ``newest``. Yields their versions."""
    asked: list[int] = []
    host, _, port = address.rpartition(":")

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=relay, args=(client,), daemon=True).start()

    def relay(client: socket.socket) -> None:
        with client, RawClient.connect(broker, "stand-in") as upstream:
            while len(head := client.recv(4, socket.MSG_WAITALL)) == 4:
                request = client.recv(struct.unpack(">i", head)[0], socket.MSG_WAITALL)
                _, key, version, _ = REQUEST_HEAD.unpack_from(head + request)
                if key == 18:
                    asked.append(version)
                    if version > newest:
                        break
                upstream.send_frame(request)
                answer = upstream.receive_frame()
                client.sendall(struct.pack(">i", len(answer)) + answer)

    with socket.create_server((host, int(port))) as listener:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield asked
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(LIMIT_S)


def test_the_broker_says_what_the_catalogue_has_for_its_release(broker: Any) -> None:
    (answer,) = ask({"bootstrap_servers": broker.internal}).answers
    newest = releases()[-1]
    assert (newest.release, newest.mode) == ((4, 4), "kraft")
    assert answer.ranges == {**newest.fixed, **newest.forwarded}
    assert answer.supported["metadata.version"] == answer.finalized["metadata.version"] == newest.metadata_version
    assert str(infer(answer.ranges, answer.finalized, answer.supported)) == "4.4"
    assert answer.broker.controller is True


def test_all_some_and_none(broker: Any) -> None:
    every = run("--bootstrap-servers", broker.internal)
    rows = [line.split() for line in every.splitlines() if line[:4].strip().isdigit()]
    with RawClient.connect(broker.internal, "direct") as client:
        direct = {each.api_key: (each.min_version, each.max_version) for each in client.api_versions("a", "1").api_keys}
    assert [int(row[0]) for row in rows] == sorted(direct)
    assert {int(row[0]): tuple(int(end) for end in (row[2].split("–") * 2)[:2]) for row in rows} == direct
    assert every.rstrip().endswith("Broker 1: 77 APIs, as in Apache Kafka 4.4.")
    some = run("--bootstrap-servers", broker.internal, "--api", "Produce,fetch,18")
    assert [line.split()[1] for line in some.splitlines() if line[:4].strip().isdigit()] == ["Produce", "Fetch", "ApiVersions"]
    none = run("--bootstrap-servers", broker.internal, "--api", "none")
    assert "ApiVersions v4" in none
    assert "Produce" not in none
    (parsed,) = map(json.loads, run("--bootstrap-servers", broker.internal, "--api", "Produce", "-o", "jsonl").splitlines())
    assert (parsed["broker"], parsed["state"], parsed["version"]) == (1, "answered", 4)
    assert parsed["apis"] == [{"key": 0, "name": "Produce", "min": 0, "max": 13, "differs": False}]


@pytest.mark.parametrize(
    ("newest", "state", "version", "last"),
    [
        (4, AnswerState.ANSWERED, 4, [4, 4]),  # on kafka-python's own connection, and on ours
        (3, AnswerState.ANSWERED, 0, [4, 0]),
        (0, AnswerState.ANSWERED, 0, [4, 0]),
        (-1, AnswerState.CLOSED, None, [4, 0]),
    ],
)
def test_a_broker_that_closes_is_asked_for_v0(
    spare: RunningBroker, newest: int, state: AnswerState, version: int | None, last: list[int]
) -> None:
    """Bootstrap goes to the broker itself, whose listener CLIENT advertises another address."""
    with fake_broker(spare.advertised, spare.client, newest) as asked:
        (answer,) = ask({"bootstrap_servers": spare.client}).answers
    assert (answer.state, answer.version, asked[-2:]) == (state, version, last)
    assert bool(answer.ranges) is (state is AnswerState.ANSWERED)
    assert str(infer(answer.ranges)) == ("4.4" if answer.ranges else "None"), "v0 has no features, and all ranges"


def test_a_broker_that_is_not_there(spare: RunningBroker) -> None:
    # Through a process of its own: kafka-python leaves a refused socket to the garbage collector, which warns.
    line = json.loads(run("--bootstrap-servers", spare.client, "-o", "jsonl"))
    assert (line["broker"], line["state"], line["apis"]) == (1, "unreachable", [])
    assert "REFUSED" in line["reason"]
    assert "Broker 1: unreachable;" in run("--bootstrap-servers", spare.client, "--api", "none")


def test_one_that_says_nothing_is_unreachable(spare: RunningBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    # kafka-python's admin client takes no setting for this: 10 s.
    monkeypatch.setitem(KafkaConnectionManager.DEFAULT_CONFIG, "socket_connection_setup_timeout_ms", 1000)
    host, _, port = spare.advertised.rpartition(":")
    with socket.create_server((host, int(port))):
        (answer,) = ask({"bootstrap_servers": spare.client, "request_timeout_ms": 1000}).answers
    assert answer.state is AnswerState.UNREACHABLE


def test_the_gateway_is_seen_through(gateway: Any) -> None:
    """A gateway in front of the broker adds PushConfig, which the inference looks over."""
    (answer,) = ask({"bootstrap_servers": gateway.address}).answers
    assert answer.ranges[1324] == (0, 0)
    assert str(infer(answer.ranges, answer.finalized, answer.supported)) == "4.4"
