"""wire/describe_cluster and its handler: two tagged fields more, and every other byte the broker's."""

from __future__ import annotations

import struct

import pytest
from address_answers import decoded, describe_cluster
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.admin import DescribeClusterRequest, DescribeClusterResponse
from played import framed, from_broker, from_client

from clientscope.errors import WireError
from clientscope.session.session import Session
from clientscope.session.state import Counted, Identified, Identity, ToBroker, ToClient
from clientscope.wire.describe_cluster import BrokerSoftware, software_in, with_software
from clientscope.wire.frames import Passed

KAFKA = BrokerSoftware("apache-kafka", "4.4.0")


def request(version: int, correlation_id: int = 5) -> bytes:
    message = DescribeClusterRequest(
        version=version, include_cluster_authorized_operations=False, endpoint_type=1, include_fenced_brokers=False
    )
    return framed(message, correlation_id, "admin")


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("software", [KAFKA, BrokerSoftware("apache-kafka", None)])
def test_a_reader_finds_the_tags_and_all_that_was_there(version: int, software: BrokerSoftware) -> None:
    patched = with_software(describe_cluster(version), version, software)
    tag_885 = b"\xf5\x06\x0d\x0dapache-kafka"
    tag_886 = b"\xf6\x06\x01\0" if software.version is None else b"\xf6\x06\x06\x064.4.0"
    assert patched == struct.pack(">i", len(patched) - 4) + describe_cluster(version)[4:-1] + b"\x02" + tag_885 + tag_886
    message = decoded(DescribeClusterResponse, patched, version)
    assert (message.cluster_id, [b.rack for b in message.brokers], message.controller_id) == ("cluster", ["r1", None], 1)
    assert with_software(patched, version, software) == patched, "said once, however many gateways there are"


@pytest.mark.parametrize("version", [0, 1, 2])
def test_through_a_session(version: int) -> None:
    session = Session(True, 10_240, software=KAFKA)
    assert from_client(session, request(version)) == [Identified(Identity(client_id="admin")), ToBroker(request(version))]
    assert from_broker(session, describe_cluster(version)) == [ToClient(with_software(describe_cluster(version), version, KAFKA))]


def test_a_version_that_nobody_has_seen_passes() -> None:
    session = Session(True, 10_240, software=KAFKA)
    newer = request(2)[:6] + struct.pack(">h", 3) + request(2)[8:]
    assert from_client(session, newer)[-1] == Passed(newer)
    assert [bytes(piece.data) for piece in from_broker(session, describe_cluster(2)) if isinstance(piece, Passed)] == [describe_cluster(2)]


@given(st.integers(0, 2), st.data())
def test_a_damaged_answer_passes_unchanged(version: int, data: st.DataObject) -> None:
    whole = describe_cluster(version)
    cut = whole[8 : data.draw(st.integers(8, len(whole) - 1))]
    frame = struct.pack(">ii", len(cut) + 4, 5) + cut
    with pytest.raises(WireError):
        with_software(frame, version, KAFKA)
    session = Session(True, 10_240, software=KAFKA)
    from_client(session, request(version))
    assert from_broker(session, frame) == [Counted("unreadable_frames", "describe_cluster_response"), ToClient(frame)]


def test_a_name_longer_than_gateways_say_is_none() -> None:
    said = {885: b"\xca\x01" + b"k" * 201, 886: b"\x06" + b"4.4.0"}
    assert software_in(said) == BrokerSoftware(None, "4.4.0")
