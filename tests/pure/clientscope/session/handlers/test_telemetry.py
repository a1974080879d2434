"""session/handlers/k71: the client instance id that a broker with telemetry gives (KIP-714).

kafka-python has no classes for this key, so the bytes are laid out here as Kafka's GetTelemetrySubscriptions*.json say.
"""

from __future__ import annotations

import struct
import uuid

import pytest
from played import from_broker, from_client
from telemetry_frames import ID, asks, framed, head

from clientscope.session.session import Session
from clientscope.session.state import Counted, Identified, ToBroker, ToClient
from clientscope.wire.frames import Passed
from clientscope.wire.messages import ApiVersionsRequest


def response(given: uuid.UUID = ID, error: int = 0, correlation_id: int = 7) -> bytes:
    head = struct.pack(">i", correlation_id) + b"\0" + struct.pack(">ih", 0, error) + given.bytes
    return framed(head + struct.pack(">i", 12) + b"\x02\x04" + struct.pack(">ii?", 300_000, 1_048_576, True) + b"\x02\x01" + b"\0")


def answered(session: Session, answer: bytes) -> list[object]:
    assert list(from_client(session, asks()))[-1:] == [ToBroker(asks())]
    return list(from_broker(session, answer))


def test_the_id_that_the_broker_gives_is_the_clients() -> None:
    session = Session(True, 10_240)
    assert answered(session, response()) == [Identified(session.identity), ToClient(response())]
    assert session.identity.instance_id == ID
    assert answered(session, response()) == [ToClient(response())], "it is said once"


@pytest.mark.parametrize("answer", [response(error=42), response(uuid.UUID(int=0))])
def test_an_error_or_no_id_changes_nothing(answer: bytes) -> None:
    session = Session(True, 10_240)
    assert answered(session, answer) == [ToClient(answer)]
    assert session.identity.instance_id is None


def test_an_id_of_the_clients_own_stays() -> None:
    session = Session(True, 10_240)
    own = uuid.UUID(int=5)
    said = ApiVersionsRequest(version=4, client_software_name="a", client_software_version="1", client_instance_id=own)
    said.with_header(1, "java")
    list(from_client(session, bytes(said.encode(header=True, framed=True))))
    list(from_broker(session, framed(struct.pack(">ih", 1, 0) + b"\x01" + struct.pack(">i", 0) + b"\0")))
    assert session.identity.instance_id == own
    assert answered(session, response()) == [Counted("unreadable_frames", "telemetry_other_instance"), ToClient(response())]
    assert session.identity.instance_id == own
    assert answered(session, response(own)) == [ToClient(response(own))]


def test_what_cannot_be_read_passes_unchanged() -> None:
    short = framed(struct.pack(">i", 7) + b"\0\0\0")
    assert answered(Session(True, 10_240), short) == [Counted("unreadable_frames", "telemetry_response"), ToClient(short)]
    session, newer = Session(True, 10_240), framed(head(71, version=1) + bytes(16) + b"\0")
    assert list(from_client(session, newer))[-1] == Passed(newer)
    assert [bytes(piece.data) for piece in from_broker(session, response()) if isinstance(piece, Passed)] == [response()]
