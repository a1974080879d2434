"""wire/addresses and wire/metadata: only addresses change, in every version; and whatever isn't such an answer is refused."""

from __future__ import annotations

import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import address_answers as answers
import pytest
from address_answers import BROKERS, decoded, describe_cluster, translate, translated
from frame_bytes import in_frame
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.admin import DescribeClusterRequest, DescribeClusterResponse
from kafka.protocol.metadata import FindCoordinatorResponse
from kafka.protocol.producer import ProduceResponse
from mutated_bytes import mutated
from played import framed, from_broker, from_client

from clientscope.errors import WireError
from clientscope.session.session import Session
from clientscope.session.state import Counted, ToClient
from clientscope.wire import addresses
from clientscope.wire.addresses import unchanged
from clientscope.wire.describe_cluster import BrokerSoftware, software_of, with_software
from clientscope.wire.metadata import MOST_HELD_BYTES, MetadataWalk


def metadata(frame: bytes, version: int, addresses: Any) -> bytes:
    """The answer as it is rewritten."""
    return b"".join(MetadataWalk(version, addresses).feed(frame, True))


KAFKA = BrokerSoftware("apache-kafka", "4.4.0")


def described(frame: bytes, version: int, addresses: Any) -> bytes:
    """A DescribeCluster answer as it is rewritten."""
    return with_software(frame, version, addresses, KAFKA)


UNKNOWN = (9, "b-9.cluster.example", 9092)
WHOLE: list[tuple[Callable[..., bytes], Callable[..., bytes], int]] = [
    *((addresses.find_coordinator, answers.find_coordinator, version) for version in range(7)),
    *((described, answers.describe_cluster, version) for version in range(3)),
    *((addresses.produce, answers.produce, version) for version in range(10, 14)),
    *((addresses.share_acknowledge, answers.share_acknowledge, version) for version in (1, 2)),
    *((metadata, answers.metadata, version) for version in range(14)),
]


@pytest.mark.parametrize("version", range(7))
def test_a_coordinator_that_has_no_port_is_not_available(version: int) -> None:
    answer = decoded(
        FindCoordinatorResponse, addresses.find_coordinator(answers.find_coordinator(version, [UNKNOWN]), version, translate), version
    )
    (found,) = answer.coordinators if version >= 4 else [answer]
    assert (found.error_code, found.node_id, found.host, found.port) == (15, -1, "", -1)


@pytest.mark.parametrize("version", range(7))
def test_an_error_without_a_coordinator_stays(version: int) -> None:
    error = answers.find_coordinator(version, [(-1, "", -1)])
    assert addresses.find_coordinator(error, version, translate) == error


@pytest.mark.parametrize(("rewrite", "answer", "version"), [each for each in WHOLE if each[0] in (described, metadata)])
def test_a_broker_without_a_port_is_left_out(rewrite: Any, answer: Any, version: int) -> None:
    without = rewrite(answer(version, translated(BROKERS)), version, unchanged)
    assert rewrite(answer(version, [*BROKERS, UNKNOWN]), version, translate) == without


def test_an_endpoint_without_a_port_is_left_out_and_its_leader_stays() -> None:
    found = decoded(ProduceResponse, addresses.produce(answers.produce(12, [UNKNOWN]), 12, translate), 12)
    assert found.node_endpoints == [] and found.responses[0].partition_responses[1].current_leader.leader_id == 2


@pytest.mark.parametrize("version", [1, 2])
def test_addresses_of_controllers_stay(version: int) -> None:
    controllers = answers.describe_cluster(version, endpoint_type=2)
    assert described(controllers, version, translate) == described(controllers, version, unchanged)


@given(st.data())
def test_hostile_answers_are_read_or_refused_and_nothing_else(data: st.DataObject) -> None:
    rewrite, answer, version = data.draw(st.sampled_from(WHOLE))
    frame = data.draw(mutated(st.just(answer(version)))).ljust(9, b"\0")
    try:
        rewritten = rewrite(in_frame(frame[4:]), version, translate)
    except WireError:
        return
    assert struct.unpack_from(">i", rewritten) == (len(rewritten) - 4,)


def test_topics_are_not_held() -> None:
    walk = MetadataWalk(12, translate)
    frame = answers.metadata(12, topics=1)
    assert b"".join(walk.feed(frame[:-10], False)) and walk.held_bytes == 0
    assert b"".join(walk.feed(frame[-10:], True)) == frame[-10:]


def test_a_list_of_brokers_without_end_is_refused() -> None:
    walk = MetadataWalk(1, translate)
    assert not list(walk.feed(struct.pack(">iii", 2**31 - 1, 5, 2**30), False))
    broker = struct.pack(">ih", 1, 10_000) + b"h" * 10_000 + struct.pack(">ih", 9092, -1)
    with pytest.raises(WireError, match="long_answer"):
        for _ in range(MOST_HELD_BYTES // len(broker) + 1):
            list(walk.feed(broker, False))


def request(version: int, correlation_id: int = 5) -> bytes:
    message = DescribeClusterRequest(
        version=version, include_cluster_authorized_operations=False, endpoint_type=1, include_fenced_brokers=False
    )
    return framed(message, correlation_id, "admin")


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("software", [KAFKA, BrokerSoftware("apache-kafka", None)])
def test_a_reader_finds_the_tags_and_all_that_was_there(version: int, software: BrokerSoftware) -> None:
    patched = with_software(describe_cluster(version), version, unchanged, software)
    tag_885 = b"\xf5\x06\x0d\x0dapache-kafka"
    tag_886 = b"\xf6\x06\x01\0" if software.version is None else b"\xf6\x06\x06\x064.4.0"
    assert patched == in_frame(describe_cluster(version)[4:-1], b"\x02", tag_885, tag_886)
    message = decoded(DescribeClusterResponse, patched, version)
    assert (message.cluster_id, [b.rack for b in message.brokers], message.controller_id) == ("cluster", ["r1", None], 1)
    assert with_software(patched, version, unchanged, software) == patched, "said once, however many gateways there are"


@given(st.integers(0, 2), st.data())
def test_a_damaged_answer_passes_unchanged(version: int, data: st.DataObject) -> None:
    whole = describe_cluster(version)
    cut = whole[8 : data.draw(st.integers(8, len(whole) - 1))]
    frame = in_frame(struct.pack(">i", 5), cut)
    with pytest.raises(WireError):
        described(frame, version, unchanged)
    session = Session(software=KAFKA)
    from_client(session, request(version))
    assert from_broker(session, frame) == [Counted("unreadable_frames", "describe_cluster_response"), ToClient(frame)]


def test_a_name_longer_than_gateways_say_is_none() -> None:
    said = {"_885": b"\xca\x01" + b"k" * 201, "_886": b"\x06" + b"4.4.0"}
    assert software_of(SimpleNamespace(unknown_tags=said)) == BrokerSoftware(None, "4.4.0")
