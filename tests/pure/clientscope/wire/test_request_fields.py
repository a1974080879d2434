"""wire/request_fields: what kafka-python's encoder writes is read back, in every version; damaged bytes raise one error."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest
from golden import is_golden
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer import FetchRequest, HeartbeatRequest, JoinGroupRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer import InitProducerIdRequest, ProduceRequest
from kafka.record.default_records import DefaultRecordBatchBuilder
from played import framed

from clientscope.errors import WireError
from clientscope.wire.frames import REQUEST_HEAD
from clientscope.wire.request_fields import VERSIONS, request_fields

SECRET = b"a-secret-value"
CLOCK_MS = 1_700_000_000_000


def fields_of(message: Any, whole: bool = True) -> dict[str, str]:
    """Of a request, or of the bytes of one."""
    frame = message if isinstance(message, bytes) else framed(message, 7, "orders")
    _, key, version, _ = REQUEST_HEAD.unpack_from(frame)
    return request_fields(key, version, frame, REQUEST_HEAD.size, whole)


def batch(compression: int = 0, producer_id: int = -1) -> bytes:
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=compression, is_transactional=False, producer_id=producer_id, producer_epoch=0, base_sequence=0,
        batch_size=10_000,
    )  # fmt: skip
    for offset in range(20):
        builder.append(offset, CLOCK_MS + offset, b"key", SECRET * 10, [])
    return bytes(builder.build())


def produced(version: int, records: bytes | None) -> Any:
    topic, partition = ProduceRequest.TopicProduceData, ProduceRequest.TopicProduceData.PartitionProduceData
    data = [topic(version=version, name="topic", partition_data=[partition(version=version, index=3, records=records)])]
    return ProduceRequest(version=version, transactional_id="tx", acks=-1, timeout_ms=21_000, topic_data=data)


def test_a_batch_of_before_kafka_0_11_shows_nothing() -> None:
    old = struct.pack(">qiIbbq", 0, 30, 0, 1, 1, 5) + bytes(60)
    assert set(fields_of(produced(7, old))) == {"transactionalId", "acks", "timeoutMs"}


def test_no_record_is_ever_read() -> None:
    frame = framed(produced(9, batch()), 7, "orders")
    place = frame.index(SECRET)
    for size in range(place):
        assert SECRET.decode() not in str(fields_of(frame[:size] + bytes(10), whole=False) if size > 60 else {})
    assert fields_of(frame[:place], whole=False) == fields_of(frame)


def fetched(version: int, topics: int) -> Any:
    topic, partition = FetchRequest.FetchTopic, FetchRequest.FetchTopic.FetchPartition
    return FetchRequest(
        version=version, replica_id=-1, max_wait_ms=350, min_bytes=7, max_bytes=40_000_000, isolation_level=1, session_id=5,
        session_epoch=2, rack_id="eu-1",
        topics=[
            topic(
                version=version, topic=f"topic-{number}",
                partitions=[partition(version=version, partition=each, fetch_offset=9, partition_max_bytes=900_000) for each in range(3)],
            )
            for number in range(topics)
        ],
        forgotten_topics_data=[FetchRequest.ForgottenTopic(version=version, topic="gone", partitions=[1, 2])] if version >= 7 else [],
    )  # fmt: skip


def asks_metadata(version: int) -> Any:
    topics = [MetadataRequest.MetadataRequestTopic(version=version, name=name) for name in ("a", "b")]
    return MetadataRequest(version=version, topics=topics, allow_auto_topic_creation=False)


def joins(version: int) -> Any:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol
    return JoinGroupRequest(
        version=version, group_id="billing", session_timeout_ms=20_000, rebalance_timeout_ms=120_000, member_id="", group_instance_id="b-1",
        protocol_type="consumer", protocols=[protocol(version=version, name=name, metadata=bytes(40)) for name in ("range", "sticky")],
    )  # fmt: skip


def head(key: int, version: int) -> bytes:
    return REQUEST_HEAD.pack(0, key, version, 7) + b"\x00\x01c\x00"


_MEMBER = b"\x02g\x02m\x00\x00\x00\x00"
MESSAGES: dict[str, tuple[Iterable[int], Callable[[int], Any]]] = {
    "Produce of a producer with an id, compressed": (range(3, 14), lambda version: produced(version, batch(1, 9))),
    "Produce": (range(3, 14), lambda version: produced(version, batch())),
    "Produce without records": (range(3, 14), lambda version: produced(version, None)),
    **{f"Fetch of {topics} topics": (range(4, 19), partial(fetched, topics=topics)) for topics in (0, 1, 30)},
    "Metadata": (range(14), asks_metadata),
    "JoinGroup": (range(10), joins),
    "Heartbeat": (range(5), lambda version: HeartbeatRequest(version=version, group_id="billing", generation_id=3, member_id="m")),
    "InitProducerId": (range(6), lambda v: InitProducerIdRequest(version=v, transactional_id="tx", transaction_timeout_ms=50_000)),
    # By the message files of 4.4.0; tests/real has the same of real clients.
    "ConsumerGroupHeartbeat": (
        [1], lambda v: head(68, v) + _MEMBER + b"\x03i1\x05eu-1" + struct.pack(">i", 90_000) + b"\x02\x02t\x00\x08uniform\x00\x00",
    ),
    "ShareGroupHeartbeat": ([1], lambda version: head(76, version) + _MEMBER + b"\x05eu-1\x00\x00"),
    "ShareFetch": ([2], lambda version: head(78, version) + _MEMBER + struct.pack(">iiiiib", 400, 2, 50_000, 60, 60, 1) + b"\x01\x01\x00"),
}  # fmt: skip


def test_what_each_version_shows() -> None:
    text = ""
    for title, (versions, made) in MESSAGES.items():
        text += "".join(f"{title}, v{version}: {fields_of(made(version))}\n" for version in versions)
    assert is_golden(text, __file__, "request_fields.txt")


def test_a_text_is_cut_like_those_of_records() -> None:
    frame = framed(InitProducerIdRequest(version=0, transactional_id="t" * 1_000, transaction_timeout_ms=1), 7, "orders")
    assert fields_of(frame)["transactionalId"] == "t" * 256


def test_a_frame_that_ends_too_early_is_an_error_only_if_it_is_whole() -> None:
    frame = framed(produced(9, batch()), 7, "orders")
    assert fields_of(frame[:40], whole=False)["acks"] == "-1"
    with pytest.raises(WireError):
        fields_of(frame[:40])


EVERY = [(key, version) for key, versions in VERSIONS.items() for version in versions]


@given(st.sampled_from(EVERY), st.binary(max_size=300), st.booleans())
def test_any_bytes_are_read_or_one_error(which: tuple[int, int], body: bytes, whole: bool) -> None:
    try:
        read = request_fields(*which, REQUEST_HEAD.pack(0, *which, 7) + body, REQUEST_HEAD.size, whole)
    except WireError:
        return
    assert all(len(value) <= 256 for value in read.values())
