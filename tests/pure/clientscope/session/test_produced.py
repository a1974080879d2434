"""session/produced: requests in flight are never counted higher than their client counts them, and bytes pass unchanged meanwhile."""

from __future__ import annotations

from typing import Any

from hostile_bytes import api_versions
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.metadata import ApiVersionsResponse
from kafka.protocol.producer import ProduceRequest
from kafka.record.default_records import DefaultRecordBatchBuilder

from clientscope.session.connection import ClientConnection
from clientscope.session.events import BROKER, CLIENT, Connected, Received, Send, Tick
from clientscope.session.playbook import play
from clientscope.session.produced import AGAIN, FIRST, MOST_REPORTS
from clientscope.session.session import Session
from clientscope.session.shown import SharedFields
from clientscope.session.state import Counted, Shown
from clientscope.wire.frames import RESPONSE_HEAD

SEVERAL = "mostInFlight", "mostBatchBytes", "ofRequests"


def produce(correlation_id: int, acks: int = -1, records: int = 0, transactional_id: str | None = None, data: bytes = b"") -> bytes:
    topic, partition = ProduceRequest.TopicProduceData, ProduceRequest.TopicProduceData.PartitionProduceData
    data = data or (batch(records) if records else b"")
    topics = [topic(version=7, name="t", partition_data=[partition(version=7, index=0, records=data)])] if data else []
    message = ProduceRequest(version=7, transactional_id=transactional_id, acks=acks, timeout_ms=30_000, topic_data=topics)
    message.with_header(correlation_id=correlation_id, client_id="orders")
    return bytes(message.encode(header=True, framed=True))


def batch(records: int) -> bytes:
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=0, is_transactional=False, producer_id=-1, producer_epoch=0, base_sequence=0, batch_size=1_000_000
    )
    for offset in range(records):
        builder.append(offset, 1, b"key", b"value" * 20, [])
    return bytes(builder.build())


def answer(correlation_id: int, size: int = 20) -> bytes:
    return RESPONSE_HEAD.pack(4 + size, correlation_id) + bytes(size)


class Producer:
    """A client with one connection, and what its gateway reports."""

    def __init__(self) -> None:
        self.made = ClientConnection(Session(False, 0, fields=SharedFields()))
        for side in (CLIENT, BROKER):
            play(self.made, Connected(side))
        self.reports: list[tuple[int, int, int]] = []
        self.counted: list[Counted] = []

    def _take(self, side: Any, data: bytes) -> None:
        commands = play(self.made, Received(side, data))
        assert b"".join(bytes(each.data) for each in commands if isinstance(each, Send)) == data
        self.counted += [each for each in commands if isinstance(each, Counted)]
        for each in commands:
            if isinstance(each, Shown) and SEVERAL[0] in (fields := dict(each.request.fields)):
                in_flight, size, requests = (int(fields[name]) for name in SEVERAL)
                self.reports.append((in_flight, size, requests))

    def sends(self, *frames: bytes) -> None:
        for frame in frames:
            if not self.made.passes_from_client(frame):
                self._take(CLIENT, frame)

    def gets(self, *frames: bytes) -> None:
        for frame in frames:
            if not self.made.passes_from_broker(frame):
                self._take(BROKER, frame)


def test_the_most_at_once_is_reported_with_the_tenth_request() -> None:
    producer = Producer()
    for start in (0, 7):
        producer.sends(*(produce(start + each) for each in range(7)))
        producer.gets(*(answer(start + each) for each in range(7)))
    assert producer.reports == [(7, 0, 10)]


def test_requests_without_an_answer_are_not_in_flight() -> None:
    producer = Producer()
    producer.sends(*(produce(each, acks=0) for each in range(FIRST)))
    assert not producer.reports
    assert producer.made.passes_from_broker(answer(1)), "answers pass unread where none is awaited"


def test_the_largest_batch_of_several_records_is_reported_with_two_digits() -> None:
    producer = Producer()
    for each in range(10):
        producer.sends(produce(each, records=1 + each % 3))
        producer.gets(answer(each))
    size = len(batch(3))
    assert [reported for _, reported, _ in producer.reports] == [size // 10 * 10]
    single = Producer()
    single.sends(*(produce(each, acks=0, records=1) for each in range(10)))
    assert not single.reports


def test_a_pipeline_that_grows_is_reported_a_few_times() -> None:
    producer = Producer()
    number = 0
    for minute in range(40):
        list(producer.made.handle(Tick(61.0 * minute, 1e9, 1e9)))
        for depth in [min(AGAIN, 2 + minute)] * (FIRST // AGAIN):
            producer.sends(*(produce(number + each) for each in range(depth)))
            producer.gets(*(answer(number + each) for each in range(depth)))
            number += depth
    depths = [depth for depth, _, _ in producer.reports]
    assert depths == sorted(set(depths))
    assert len(depths) == MOST_REPORTS
    assert producer.counted
    assert all(each == Counted("settings_unread", "most_reports") for each in producer.counted)


def test_what_is_kept_of_a_connection_is_bounded() -> None:
    producer = Producer()
    for minute in range(40):
        list(producer.made.handle(Tick(61.0 * minute, 1e9, 1e9)))
        producer.sends(*(produce(1000 * minute + each) for each in range(FIRST)))
    assert max(depth for depth, _, _ in producer.reports) <= FIRST


CLOCK_MS = 1_700_000_000_000
LINGER_MS = 40


def gathered(count: int, began_ms: int) -> bytes:
    """A batch of a client that waits for `LINGER_MS`."""
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=0, is_transactional=False, producer_id=-1, producer_epoch=0, base_sequence=0, batch_size=1_000_000
    )
    for offset in range(count):
        builder.append(offset, CLOCK_MS + began_ms + LINGER_MS * offset // (count - 1), b"key", b"value", [])
    return bytes(builder.build())


def ranges(
    acks: int = -1, transactional_id: str | None = None, first_after_ms: int = 2, answered_after_ms: int = 5, introduced: bool = True
) -> list[tuple[str, str]]:
    """What one connection shows of linger.ms.

    Args:
        first_after_ms: the client's first request, after the answer to its first one, ApiVersions.
        introduced: whether it sends ApiVersions.
    """
    now_ms = [1_000_000.0]
    made = ClientConnection(Session(False, 0, fields=SharedFields(), clock=lambda: now_ms[0] / 1000))
    found = []

    def take(at_ms: float, side: Any, data: bytes) -> None:
        now_ms[0] = 1_000_000 + at_ms
        if not (made.passes_from_client(data) if side is CLIENT else made.passes_from_broker(data)):
            fields = [dict(each.request.fields) for each in play(made, Received(side, data)) if isinstance(each, Shown)]
            found.extend((each["lingerLeastMs"], each["lingerMostMs"]) for each in fields if "lingerLeastMs" in each)

    for side in (CLIENT, BROKER):
        play(made, Connected(side))
    versions = ApiVersionsResponse(version=3, error_code=0, api_keys=[ApiVersionsResponse.ApiVersion(version=3, api_key=0, max_version=9)])
    versions.with_header(correlation_id=1)
    if introduced:
        take(-100, CLIENT, api_versions(b"apache-kafka-java"))
        take(-50, BROKER, bytes(versions.encode(header=True, framed=True)))
    events = []
    for number in range(FIRST):
        sent_ms = -50 + first_after_ms + (LINGER_MS + 3) * number
        frame = produce(10 + number, acks, transactional_id=transactional_id, data=gathered(5 + number % 7, sent_ms))
        events += [(sent_ms, CLIENT, frame), (sent_ms + answered_after_ms, BROKER, answer(10 + number))][: 2 if acks else 1]
    for event in sorted(events, key=lambda each: each[0]):
        take(*event)
    return found


def test_answers_pass_unread_beyond_those_to_a_clients_introduction() -> None:
    producer = Producer()
    producer.gets(*(answer(number) for number in range(9)))
    assert producer.made.passes_from_broker(answer(9)), "no request of it was looked into"
    introduced = Producer()
    introduced.sends(produce(1))
    introduced.gets(answer(1))
    assert introduced.made.passes_from_broker(answer(2))


def test_how_long_batches_gather_records_is_reported_with_the_last_of_the_first_requests() -> None:
    assert ranges() == [("37", "46")]


def test_nothing_follows_of_a_client_that_may_have_waited_for_something_else() -> None:
    assert not ranges(acks=0), "it isn't known when the client could send again"
    assert not ranges(transactional_id="tx"), "for its coordinator"
    assert not ranges(answered_after_ms=LINGER_MS + 10), "for the answer to its last request"
    assert not ranges(answered_after_ms=LINGER_MS - 5), "the same: it has just come"
    assert ranges(first_after_ms=15)
    assert not ranges(first_after_ms=20), "the same: the way to the gateway and back may be as long"
    assert not ranges(introduced=False), "the same: it isn't known how long that is"


BURST = st.tuples(st.lists(st.sampled_from([0, 1, -1]), max_size=9), st.integers(0, 9))
"""The acks of some requests, and how many answers follow."""


@given(st.lists(BURST, min_size=8, max_size=20), st.integers(1, 9))
def test_no_client_has_fewer_in_flight_than_is_reported(bursts: list[tuple[list[int], int]], most: int) -> None:
    """A client that never has more than so many in flight; the broker answers in order."""
    producer, waiting, number = Producer(), [], 0
    for burst, answers in bursts:
        for acks in burst:
            if acks and len(waiting) == most:
                producer.gets(answer(waiting.pop(0)))
            producer.sends(produce(number, acks))
            waiting += [number] if acks else []
            number += 1
        producer.gets(*map(answer, waiting[:answers]))
        del waiting[:answers]
    assert all(depth <= most for depth, _, _ in producer.reports)
