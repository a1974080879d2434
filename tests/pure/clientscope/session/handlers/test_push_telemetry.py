"""session/handlers/k71, k72 and k18: telemetry that the gateway offers and answers, or copies (KIP-714); transcripts without a socket."""

from __future__ import annotations

import struct
import uuid

import pytest
from every import every
from frame_bytes import in_frame
from hypothesis import given
from hypothesis import strategies as st
from played import answer_to_hello, from_broker, from_client, hello
from telemetry_frames import (
    ID,
    JAVA,
    NO_ID,
    api_versions_answer,
    asking,
    asks,
    exchange,
    keys,
    offered,
    push_answer,
    pushes,
    says,
    subscribed,
)

from clientscope.errors import WireError
from clientscope.session.session import Session
from clientscope.session.state import Counted, Identified, MetricsPushed, ToBroker, ToClient
from clientscope.session.telemetry import MAX_BYTES, Subscription, Telemetry, TelemetryPlan
from clientscope.wire.codes import INVALID_REQUEST, NONE, TELEMETRY_TOO_LARGE, THROTTLING_QUOTA_EXCEEDED, UNKNOWN_SUBSCRIPTION_ID
from clientscope.wire.frames import Passed
from clientscope.wire.telemetry import GZIP, PushedMetrics

ALL = Subscription(("*",), 60_000)
ASKED = ALL.id_of(ID)


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry(TelemetryPlan(ALL), lambda: ID, lambda: 5.0)


def test_a_client_that_survives_it_is_offered_both_keys_and_where_the_broker_takes_it_its_answer_stays(telemetry: Telemetry) -> None:
    assert keys(says(Session(telemetry=telemetry))) == {0, 1, 18, 1324, 71, 72}
    for more in ((71, 72), (71,), (72,)):
        assert says(Session(False, 10_240, telemetry=telemetry), JAVA, *more) == api_versions_answer(*more)


@pytest.mark.parametrize(
    "software", [("apache-kafka-java", "3.7.1"), ("librdkafka", "2.5.0"), ("sarama", "1.45.0"), ("unknown", "unknown"), ("a", "1")]
)
@pytest.mark.parametrize("push_config", [False, True])
def test_all_others_see_the_same_bytes_as_without(telemetry: Telemetry, software: tuple[str, str], push_config: bool) -> None:
    says(Session(push_config, 10_240, telemetry=telemetry))  # answers are kept between connections
    assert says(Session(push_config, 10_240, telemetry=telemetry), software) == says(Session(push_config, 10_240), software)


def test_a_client_gets_an_id_and_a_subscription(telemetry: Telemetry) -> None:
    session = offered(telemetry)
    reported, answer = exchange(session, asks(correlation_id=9))
    assert subscribed(answer) == (9, 0, NONE, ID, ASKED, (GZIP,), 60_000, MAX_BYTES, True, ("*",))
    assert reported == [Counted("telemetry_answered", "none"), Identified(session.identity)]
    assert session.identity.instance_id == ID
    reported, answer = exchange(session, asks(ID))
    assert subscribed(answer) == (7, 0, THROTTLING_QUOTA_EXCEEDED, NO_ID, 0, (), 0, 0, False, ())
    assert reported == [Counted("telemetry_answered", "throttling_quota_exceeded")]


def test_what_a_client_was_offered_it_may_use_though_the_broker_takes_telemetry_from_then_on(telemetry: Telemetry) -> None:
    session = offered(telemetry)
    says(session, JAVA, 71, 72)
    assert subscribed(exchange(session, asks(uuid.UUID(int=9)))[1])[2:4] == (NONE, uuid.UUID(int=9)), "under the id that it has"


def test_what_it_pushes_is_reported_and_answered_in_its_turn(telemetry: Telemetry) -> None:
    session = offered(telemetry)
    push = pushes(ASKED, b"some", correlation_id=3)
    counted, named, pushed, carrier, passed, *_ = from_client(session, push + in_frame(b"\0\1\0\4" + bytes(4)))
    assert (counted, named) == (Counted("telemetry_answered", "none"), Identified(session.identity))
    assert isinstance(pushed, MetricsPushed) and not pushed.copied
    assert pushed.push == PushedMetrics(ID, ASKED, False, GZIP, b"some")
    assert isinstance(carrier, ToBroker) and isinstance(passed, Passed), (
        "it never reaches the broker, and what is behind it waits for nothing"
    )
    (answer,) = from_broker(session, api_versions_answer()[:4] + push[8:12] + api_versions_answer()[8:])
    assert isinstance(answer, ToClient) and push_answer(answer.data) == (3, NONE)


def test_a_push_on_another_connection_is_of_the_same_instance(telemetry: Telemetry) -> None:
    exchange(offered(telemetry), asks())
    session = offered(telemetry)
    exchange(session, pushes(ASKED))
    assert session.identity.instance_id == ID
    reported, _ = exchange(session, pushes(ALL.id_of(uuid.UUID(int=9)), instance_id=uuid.UUID(int=9)))
    assert Counted("unreadable_frames", "telemetry_other_instance") in reported
    assert session.identity.instance_id == ID


def test_nothing_is_reported_of_a_push_that_is_refused_or_empty(telemetry: Telemetry) -> None:
    session = offered(telemetry)
    for frame, error in (
        (pushes(5), UNKNOWN_SUBSCRIPTION_ID),
        (pushes(ASKED), THROTTLING_QUOTA_EXCEEDED),
        (pushes(ASKED, b"", terminating=True), NONE),
        (pushes(ASKED), INVALID_REQUEST),
    ):
        reported, answer = exchange(session, frame)
        assert push_answer(answer) == (7, error)
        assert not any(isinstance(each, MetricsPushed) for each in every(reported))


@pytest.mark.parametrize("size", [MAX_BYTES + 1, 70_000, 1_000_000])
def test_a_push_that_is_too_large_is_refused_and_not_kept(telemetry: Telemetry, size: int) -> None:
    """One that has no room in a frame that is read is discarded as it comes."""
    session = offered(telemetry)
    frame = pushes(ASKED, bytes(size))
    _, carrier = from_client(session, frame[:1_000]) if size > 64 * 1024 else (None, None)
    if carrier is None:
        assert push_answer(exchange(session, frame)[1]) == (7, TELEMETRY_TOO_LARGE)
        return
    assert from_client(session, frame[1_000:]) == [] and session.held_bytes == 0
    (answer,) = from_broker(session, in_frame(frame[8:12] + bytes(12)))
    assert push_answer(answer.data) == (7, TELEMETRY_TOO_LARGE)


@pytest.mark.parametrize("key", [71, 72])
@given(body=st.binary(max_size=60))
def test_any_bytes_get_an_answer(key: int, body: bytes) -> None:
    session = offered(Telemetry(TelemetryPlan(ALL)))
    _, answer = exchange(session, asking(key, body))
    assert (subscribed(answer)[2] if key == 71 else push_answer(answer)[1]) in (NONE, INVALID_REQUEST, UNKNOWN_SUBSCRIPTION_ID)


@pytest.mark.parametrize("frame", [asks(), pushes(ASKED)])
def test_before_authentication_the_connection_ends(telemetry: Telemetry, frame: bytes) -> None:
    session = Session(sasl=True, telemetry=telemetry)
    says(session)
    with pytest.raises(WireError, match="unauthenticated_telemetry"):
        from_client(session, frame)


def test_where_the_broker_answers_a_copy_is_taken_of_what_it_accepts(telemetry: Telemetry) -> None:
    session = Session(telemetry=telemetry)
    says(session, JAVA, 71, 72)
    push, accepted = pushes(123, b"some"), in_frame(b"\0\0\0\7" + bytes(8))
    assert from_client(session, push) == [ToBroker(push)]
    named, pushed, answer = from_broker(session, accepted)
    assert (named, answer) == (Identified(session.identity), ToClient(accepted))
    assert isinstance(pushed, MetricsPushed) and pushed.copied
    assert pushed.push == PushedMetrics(ID, 123, False, GZIP, b"some")
    refused = in_frame(b"\0\0\0\7" + bytes(5) + b"\0\x59\0")
    from_client(session, push)
    assert from_broker(session, refused) == [ToClient(refused)]


def test_a_copy_that_cannot_be_read_passes_and_is_counted(telemetry: Telemetry) -> None:
    session = Session(telemetry=telemetry)
    says(session, JAVA, 71, 72)
    broken = asking(72, b"\1\2")
    assert from_client(session, broken) == [Counted("unreadable_frames", "telemetry_request"), ToBroker(broken)]
    assert from_broker(session, in_frame(b"\0\0\0\7\0")) == [
        Counted("unreadable_frames", "telemetry_response"),
        ToClient(in_frame(b"\0\0\0\7\0")),
    ]
    long = pushes(1, bytes(70_000))
    assert b"".join(bytes(command.data) for command in from_client(session, long) if isinstance(command, Passed)) == long


# A broker answers k71 itself. kafka-python has no classes for this key: the bytes are as Kafka's GetTelemetrySubscriptions*.json say.


def broker_gives(given: uuid.UUID = ID, error: int = 0) -> bytes:
    begun = struct.pack(">ibih", 7, 0, 0, error)
    return in_frame(begun, given.bytes, struct.pack(">i2bii?", 12, 2, 4, 300_000, 1_048_576, True), b"\2\1\0")


def answered(session: Session, answer: bytes) -> list[object]:
    assert from_client(session, asks())[-1:] == [ToBroker(asks())]
    return from_broker(session, answer)


def test_the_id_that_the_broker_gives_is_the_clients(session: Session) -> None:
    assert answered(session, broker_gives()) == [Identified(session.identity), ToClient(broker_gives())]
    assert session.identity.instance_id == ID
    assert answered(session, broker_gives()) == [ToClient(broker_gives())], "it is said once"


@pytest.mark.parametrize("answer", [broker_gives(error=42), broker_gives(uuid.UUID(int=0))])
def test_an_error_or_no_id_changes_nothing(session: Session, answer: bytes) -> None:
    assert answered(session, answer) == [ToClient(answer)]
    assert session.identity.instance_id is None


def test_an_id_of_the_clients_own_stays(session: Session) -> None:
    own = uuid.UUID(int=5)
    from_client(session, hello("a", version=4, client_instance_id=own))
    from_broker(session, answer_to_hello({}, 4, 1))
    assert session.identity.instance_id == own
    assert answered(session, broker_gives()) == [Counted("unreadable_frames", "telemetry_other_instance"), ToClient(broker_gives())]
    assert session.identity.instance_id == own
    assert answered(session, broker_gives(own)) == [ToClient(broker_gives(own))]


def test_what_cannot_be_read_passes_unchanged() -> None:
    short = in_frame(struct.pack(">i", 7) + b"\0\0\0")
    assert answered(Session(), short) == [Counted("unreadable_frames", "telemetry_response"), ToClient(short)]
    session, newer = Session(), asking(71, bytes(17), version=1)
    assert from_client(session, newer)[-1] == Passed(newer)
    assert [bytes(piece.data) for piece in from_broker(session, broker_gives()) if isinstance(piece, Passed)] == [broker_gives()]
