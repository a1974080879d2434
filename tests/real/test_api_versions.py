"""ApiVersions: each case replayed against the broker and against the gateway; the answers are equal but for our key."""

from __future__ import annotations

import json
import struct
import uuid
from pathlib import Path
from typing import Any

import pytest
from observe import read_all
from patience import until

from clientscope.client.raw import RawClient
from clientscope.demo.watch import jmx_connections
from clientscope.errors import WireError
from clientscope.records.client_key import instance_of
from clientscope.records.codec import decode
from clientscope.records.config_record import ClientConfigRecord
from clientscope.records.topics import CONFIGS
from clientscope.wire import api_versions
from clientscope.wire.codes import INVALID_REQUEST, PUSH_CONFIG, UNSUPPORTED_VERSION

CAPTURED = [json.loads(line) for line in (Path(__file__).parent.parent / "fixtures" / "wire.jsonl").read_text().splitlines()]
INSTANCE = uuid.UUID("0b1e9f5c-8a3e-4a7e-9df0-d2a1c6c10b11")


def request(version: int, name: bytes = b"java", software_version: bytes = b"4.4.0", rest: bytes = b"\0") -> bytes:
    """A payload; from v3 on with name, version and what follows them."""
    header = struct.pack(">hhih", 18, version, 7, 3) + b"app"
    if version < 3:
        return header
    return header + b"\0" + bytes([len(name) + 1]) + name + bytes([len(software_version) + 1]) + software_version + rest


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
    """The answer to one frame, whole; empty if the connection was closed instead."""
    with RawClient.connect(address, "replay") as client:
        client.send_frame(payload)
        try:
            answer = client.receive_frame()
        except ConnectionError:
            return b""
        return struct.pack(">i", len(answer)) + answer


def both(broker: Any, gateway: Any, payload: bytes) -> tuple[bytes, bytes]:
    """The broker's answer and the gateway's, of one moment: FinalizedFeaturesEpoch moves on with each record of KRaft's log."""
    for _ in range(100):
        direct, through = replay(broker.client, payload), replay(gateway.address, payload)
        if replay(broker.client, payload) == direct:
            break
    return direct, through


def same_but_for_our_key(broker: Any, gateway: Any, payload: bytes) -> None:
    direct, through = both(broker, gateway, payload)
    version = struct.unpack_from(">h", payload, 2)[0]
    assert direct
    assert through == api_versions.advertise(direct, version, PUSH_CONFIG, 0, 0)
    assert (through == direct) == (api_versions.error_code(direct) in (INVALID_REQUEST, UNSUPPORTED_VERSION))


@pytest.mark.parametrize("case", CASES)
def test_the_answer_is_the_brokers_own_but_for_our_key(broker: Any, gateway: Any, case: str) -> None:
    same_but_for_our_key(broker, gateway, CASES[case])


@pytest.mark.parametrize("payload", [request(3)[:-3], request(3) + b"junk", struct.pack(">hhih", 18, 3, 7, -1) + b"\xff" * 5, b"\0" * 8])
def test_garbage_is_the_brokers_to_judge(broker: Any, gateway: Any, payload: bytes) -> None:
    direct, through = both(broker, gateway, payload)
    version = struct.unpack_from(">h", payload, 2)[0]
    try:
        api_versions.read_request(struct.pack(">i", len(payload)) + payload)
        expected = api_versions.advertise(direct, version, PUSH_CONFIG, 0, 0) if direct else b""
    except WireError:
        expected = direct  # what the gateway can't read, it doesn't touch, nor its answer
    assert through == expected


def test_the_texts_v5_is_known_to_broker_and_gateway_and_pushes_under_its_id(broker: Any, gateway: Any) -> None:
    with RawClient.connect(gateway.address, "text-v5") as client:
        client.send_frame(request(5, name=b"text-v5", rest=INSTANCE.bytes + b"\0"))
        assert struct.unpack_from(">ih", client.receive_frame()) == (7, 0)
        assert jmx_connections(broker.jmx_port)["text-v5", "4.4.0"] == 1
        assert client.push_config([("acks", "all", 1, True)]).error_code == 0
    records = [m for m in read_all(broker.internal, CONFIGS) if instance_of(m.key.decode()) == str(INSTANCE)]
    assert decode(ClientConfigRecord, records[-1].value).client_instance_id == str(INSTANCE)
    until(lambda: ("text-v5", "4.4.0") not in jmx_connections(broker.jmx_port))
