"""wire/describe_cluster and its handler: two tagged fields more, and every other byte the broker's."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.admin import DescribeClusterRequest, DescribeClusterResponse
from played import from_broker, from_client

from clientscope.errors import WireError
from clientscope.session.session import Session
from clientscope.session.state import Counted, Identified, Identity, ToBroker, ToClient
from clientscope.wire.describe_cluster import BrokerSoftware, software_in, with_software
from clientscope.wire.frames import Passed

KAFKA = BrokerSoftware("apache-kafka", "4.4.0")


def response(version: int, correlation_id: int = 5) -> bytes:
    broker = DescribeClusterResponse.DescribeClusterBroker
    brokers = [broker(version=version, broker_id=n, host="b", port=9092, rack=["r1", None][n], is_fenced=False) for n in range(2)]
    message = DescribeClusterResponse(
        version=version, throttle_time_ms=0, error_code=0, error_message=None, endpoint_type=1, cluster_id="cluster", controller_id=1,
        brokers=brokers,
    )  # fmt: skip
    message.with_header(correlation_id=correlation_id)
    return bytes(message.encode(header=True, framed=True))


def request(version: int, correlation_id: int = 5) -> bytes:
    message = DescribeClusterRequest(
        version=version, include_cluster_authorized_operations=False, endpoint_type=1, include_fenced_brokers=False
    )
    message.with_header(correlation_id, "admin")
    return bytes(message.encode(header=True, framed=True))


def decoded(frame: bytes, version: int) -> Any:
    assert struct.unpack_from(">i", frame) == (len(frame) - 4,)
    return DescribeClusterResponse.decode(frame[4:], version=version, header=True)


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("software", [KAFKA, BrokerSoftware("apache-kafka", None)])
def test_a_reader_finds_the_tags_and_all_that_was_there(version: int, software: BrokerSoftware) -> None:
    patched = with_software(response(version), version, software)
    tag_885 = b"\xf5\x06\x0d\x0dapache-kafka"
    tag_886 = b"\xf6\x06\x01\0" if software.version is None else b"\xf6\x06\x06\x064.4.0"
    assert patched == struct.pack(">i", len(patched) - 4) + response(version)[4:-1] + b"\x02" + tag_885 + tag_886
    message = decoded(patched, version)
    assert (message.cluster_id, [b.rack for b in message.brokers], message.controller_id) == ("cluster", ["r1", None], 1)
    assert with_software(patched, version, software) == patched, "said once, however many gateways there are"


@pytest.mark.parametrize("version", [0, 1, 2])
def test_through_a_session(version: int) -> None:
    session = Session(True, 10_240, software=KAFKA)
    assert list(from_client(session, request(version))) == [Identified(Identity(client_id="admin")), ToBroker(request(version))]
    assert list(from_broker(session, response(version))) == [ToClient(with_software(response(version), version, KAFKA))]


def test_a_version_that_nobody_has_seen_passes() -> None:
    session = Session(True, 10_240, software=KAFKA)
    newer = request(2)[:6] + struct.pack(">h", 3) + request(2)[8:]
    assert list(from_client(session, newer))[-1] == Passed(newer)
    assert [bytes(piece.data) for piece in from_broker(session, response(2)) if isinstance(piece, Passed)] == [response(2)]


@given(st.integers(0, 2), st.data())
def test_a_damaged_answer_passes_unchanged(version: int, data: st.DataObject) -> None:
    whole = response(version)
    cut = whole[8 : data.draw(st.integers(8, len(whole) - 1))]
    frame = struct.pack(">ii", len(cut) + 4, 5) + cut
    with pytest.raises(WireError):
        with_software(frame, version, KAFKA)
    session = Session(True, 10_240, software=KAFKA)
    list(from_client(session, request(version)))
    assert list(from_broker(session, frame)) == [Counted("unreadable_frames", "describe_cluster_response"), ToClient(frame)]


def test_a_name_longer_than_gateways_say_is_none() -> None:
    said = {885: b"\xca\x01" + b"k" * 201, 886: b"\x06" + b"4.4.0"}
    assert software_in(said) == BrokerSoftware(None, "4.4.0")
