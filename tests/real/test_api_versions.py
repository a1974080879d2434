"""ApiVersions: broker and gateway answer alike but for our key; and ``clientscope api-versions``, also of brokers that can't be asked."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

import pytest
from conftest import RunningBroker
from forked import printed
from frame_bytes import compact, head, in_frame
from kafka.net.manager import KafkaConnectionManager
from places import TESTS

from clientscope.catalog.releases import infer, releases
from clientscope.client.raw import RawClient
from clientscope.cluster.api_versions import AnswerState, ask
from clientscope.wire import api_versions
from clientscope.wire.codes import INVALID_REQUEST, PUSH_CONFIG, UNSUPPORTED_VERSION

CAPTURED = [json.loads(line) for line in (TESTS / "fixtures" / "wire.jsonl").read_text().splitlines()]


def request(version: int, name: bytes = b"java", software_version: bytes = b"4.4.0", rest: bytes = b"\0") -> bytes:
    """A payload; from v3 on with name, version and what follows them."""
    begun = head(18, version, 7, b"app")
    return begun if version < 3 else begun + b"\0" + compact(name) + compact(software_version) + rest


CASES = {
    **{f"v{version}": request(version) for version in range(5)},
    "v5": request(5, rest=b"\0" + b"\xff" * 4 + b"\0"),
    "v99": request(99),
    "an empty name": request(3, name=b""),
    "a name with a space": request(4, name=b"a b"),
    "a name that ends with a dash": request(3, name=b"java-"),
    "an empty version": request(3, software_version=b""),
    "a version beyond ASCII": request(3, software_version="é".encode()),
    "a long name": request(3, name=b"n" * 120),
    "an unknown tag": request(4, rest=b"\x01\x63\x01x"),
    **{line["client"]: bytes.fromhex(line["frame"])[4:] for line in CAPTURED if (line["way"], line["api_key"]) == ("request", 18)},
}


def replay(address: str, payload: bytes) -> bytes:
    """The answer to one frame, whole."""
    with RawClient.connect(address, "replay") as client:
        client.send_frame(payload)
        return in_frame(client.receive_frame())


def same_but_for_our_key(broker: Any, gateway: Any, payload: bytes) -> None:
    """The broker's answer and the gateway's, of one moment: FinalizedFeaturesEpoch moves on with each record of KRaft's log."""
    for _ in range(100):
        direct, through = replay(broker.client, payload), replay(gateway.address, payload)
        if replay(broker.client, payload) == direct:
            break
    version = struct.unpack_from(">h", payload, 2)[0]
    refused = api_versions.error_code(direct) in (INVALID_REQUEST, UNSUPPORTED_VERSION)
    assert through == (direct if refused else api_versions.advertise(direct, version, PUSH_CONFIG))


@pytest.mark.parametrize("case", CASES)
def test_the_answer_is_the_brokers_own_but_for_our_key(broker: Any, gateway: Any, case: str) -> None:
    same_but_for_our_key(broker, gateway, CASES[case])


def run(*flags: str) -> str:
    return printed("api-versions", *flags, COLUMNS="100")


def test_the_broker_says_what_the_catalogue_has_for_its_release(broker: Any) -> None:
    (answer,) = ask({"bootstrap_servers": broker.internal}).answers
    newest = releases()[-1]
    assert (newest.release, newest.mode) == ((4, 4), "kraft")
    assert answer.ranges == {**newest.fixed, **newest.forwarded}
    assert answer.supported["metadata.version"] == answer.finalized["metadata.version"] == newest.metadata_version
    assert str(infer(answer.ranges, answer.finalized, answer.supported)) == "4.4"
    assert answer.broker.controller is True


def test_the_command_says_the_same(broker: Any) -> None:
    assert run("--bootstrap-servers", broker.internal).rstrip().endswith("Broker 1: 77 APIs, as in Apache Kafka 4.4.")
    (parsed,) = map(json.loads, run("--bootstrap-servers", broker.internal, "--api", "Produce,fetch", "-o", "jsonl").splitlines())
    assert (parsed["broker"], parsed["state"], parsed["version"]) == (1, "answered", 4)
    assert parsed["apis"][0] == {"key": 0, "name": "Produce", "min": 0, "max": 13, "differs": False}
    assert [each["key"] for each in parsed["apis"]] == [0, 1]


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
