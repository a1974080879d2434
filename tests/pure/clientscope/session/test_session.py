"""session: transcripts over bytes that real clients and a real broker sent; no socket, no clock."""

from __future__ import annotations

import json
import struct
import time
import uuid
from typing import Any

import pytest
from frame_bytes import head, in_frame, request_frame
from places import TESTS
from played import Played, answer_to_hello, framed, from_broker, from_client, push_config, request_id

from clientscope.bounded import Shared
from clientscope.session.handler import READ_LIMIT
from clientscope.session.session import Session
from clientscope.session.shown import MOST_HELD
from clientscope.session.state import Counted, Identified, Identity, PushAnswer, Pushed, Shown, ToBroker, ToClient
from clientscope.wire import api_versions
from clientscope.wire.codes import (
    CONFIG_TOO_LARGE,
    ERROR_NAMES,
    INVALID_CONFIG,
    INVALID_REQUEST,
    PUSH_CONFIG,
    UNSUPPORTED_VERSION,
)
from clientscope.wire.frames import REQUEST_HEAD, Passed
from clientscope.wire.messages import PushConfigResponse

FIXTURES = [json.loads(line) for line in (TESTS / "fixtures" / "wire.jsonl").read_text().splitlines()]
CLIENTS = sorted({line["client"] for line in FIXTURES})


def captured(client: str, way: str, api_key: int = 18) -> bytes:
    """One frame as it was captured; the responses are the gateway's, with our key in them."""
    return next(bytes.fromhex(f["frame"]) for f in FIXTURES if (f["client"], f["way"], f["api_key"]) == (client, way, api_key))


def without_our_key(frame: bytes) -> bytes:
    """The broker's own answer, from the gateway's."""
    flexible = b"\x05\x2c\x00\x00\x00\x00\x00"
    entry = flexible if flexible in frame else flexible[:-1]
    before, _, after = frame[12 if entry == flexible else 14 :].partition(entry)
    count = bytes([frame[10] - 1]) + frame[11:12] if entry == flexible else struct.pack(">i", struct.unpack_from(">i", frame, 10)[0] - 1)
    return in_frame(frame[4:10], count if entry != flexible else count[:1] + frame[11:12], before, after)


def response(code: int = 0, version: int = 4, correlation_id: int = 1) -> bytes:
    """A broker's answer, with the keys that these transcripts use."""
    return answer_to_hello(dict.fromkeys((0, 1, 3, 8, 18), (0, 9)), version, correlation_id, code)


def push_frame(configs: list[tuple[str, Any, int]], version: int = 0) -> bytes:
    frame = framed(push_config(*((*each, False) for each in configs)), 2, "orders-producer")
    return frame[:6] + struct.pack(">h", version) + frame[8:]


def connected(client: str = "clientscope producer") -> Session:
    """A session whose client has identified itself."""
    session = Session()
    from_client(session, captured(client, "request"))
    from_broker(session, response(version=4, correlation_id=1))
    return session


def answered(command: Any) -> Any:
    assert isinstance(command, ToClient)
    return PushConfigResponse.decode(command.data[4:], version=0, header=True)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_is_known_once_the_broker_accepts_and_each_sees_the_others_bytes(session: Session, client: str) -> None:
    """But for our tag in the request, and our key in the answer."""
    request, original = captured(client, "request"), captured(client, "response")
    (command,) = from_client(session, request)
    assert isinstance(command, ToBroker)
    if client.startswith("clientscope"):
        assert len(command.data) == len(request) - (2 + 1 + 16)
        assert api_versions.read_request(command.data).instance_id is None
    else:
        assert command.data == request
    assert session.identity.software_name == "unknown"
    version = next(f["api_version"] for f in FIXTURES if f["client"] == client and f["api_key"] == 18)
    plain = without_our_key(original)
    assert api_versions.advertise(plain, version, PUSH_CONFIG) == original
    assert [c.data for c in from_broker(session, plain) if isinstance(c, ToClient)] == [original]
    name, version = {"clientscope producer": "kafka-python 3.0.12", "clientscope consumer": "kafka-python 3.0.12"}.get(
        client, client
    ).split()
    if name == "aiokafka":
        assert (session.identity.software_name, session.identity.software_version) == ("unknown", "unknown")
        assert session.identity.client_id == "legacy-billing"
    else:
        expected = {"java": "apache-kafka-java", "confluent-kafka": "confluent-kafka-python"}.get(name, name)
        assert session.identity.software_name == expected
        assert session.identity.software_version.startswith(version)
    assert (session.identity.instance_id is not None) == client.startswith("clientscope")


def test_without_a_policy_nothing_is_advertised_and_a_push_goes_upstream() -> None:
    session = Session(False, 10_240)
    from_client(session, captured("java 4.4.0", "request"))
    plain = without_our_key(captured("java 4.4.0", "response"))
    assert [c.data for c in from_broker(session, plain) if isinstance(c, ToClient)] == [plain]
    push = push_frame([("acks", "all", 1)])
    assert from_client(session, push) == [Passed(push), Counted("requests_unserved", "unknown_api_key")]


@pytest.mark.parametrize(("code", "name"), [(INVALID_CONFIG, "invalid_config"), (-1, "unknown_server_error")])
def test_a_push_that_is_pipelined_behind_api_versions_is_pushed_by_who_that_says(session: Session, code: int, name: str) -> None:
    asked, push = captured("clientscope producer", "request"), captured("clientscope producer", "request", PUSH_CONFIG)
    _, carrier = from_client(session, asked + push)
    assert isinstance(carrier, ToBroker)
    said, own = api_versions.read_request(carrier.data), api_versions.read_request(asked)
    assert carrier.data[4:8] == asked[4:8] and (said.software_name, said.client_id) == (own.software_name, own.client_id)
    *_, pushed = from_broker(session, response() + response(correlation_id=request_id(carrier.data)))
    assert isinstance(pushed, Pushed) and {each.key for each in pushed.configs} >= {"acks", "linger.ms", "client.id"}
    assert (pushed.correlation_id, session.identity.software_name) == (REQUEST_HEAD.unpack_from(push)[3], "kafka-python")
    assert 0 <= time.time() * 1000 - pushed.received_ms < 60_000
    counted, answer = session.answer(pushed.token, PushAnswer(code, "no", 7))
    assert counted == Counted("pushes_answered", name)
    said = answered(answer)
    assert (said.error_code, said.error_message, said.throttle_time_ms) == (code, "no", 7)


LONGEST_VALUE = 10_240 - 12
"""Of acks, so that the push has as many bytes as may be."""


def test_a_push_of_as_many_bytes_as_may_be_is_taken() -> None:
    assert [type(each) for each in from_client(connected(), push_frame([("acks", "x" * LONGEST_VALUE, 1)]))] == [ToBroker]


@pytest.mark.parametrize(
    ("frame", "code", "reason"),
    [
        (push_frame([]), INVALID_REQUEST, "no_configs"),
        (push_frame([("acks", "0", 1)], version=1), UNSUPPORTED_VERSION, "unsupported_version"),
        (push_frame([("acks", "x" * (LONGEST_VALUE + 1), 1)]), CONFIG_TOO_LARGE, "too_large"),
        (push_frame([("acks", "x" * 100_000, 1)]), CONFIG_TOO_LARGE, "too_large"),
    ],
)
def test_f11_a_push_that_is_wrong_is_answered_and_counted(frame: bytes, code: int, reason: str) -> None:
    session = connected()
    counted, carrier = from_client(session, frame)
    assert counted == Counted("pushes_refused", reason)
    assert isinstance(carrier, ToBroker)
    counted, answer = from_broker(session, response(correlation_id=request_id(carrier.data)))
    assert counted == Counted("pushes_answered", ERROR_NAMES[code])
    assert answered(answer).error_code == code


def test_f11_any_garbling_of_a_push_is_answered_and_the_next_request_is_read() -> None:
    whole = captured("clientscope producer", "request", PUSH_CONFIG)
    for cut in range(12, len(whole) - 1):
        frame = in_frame(whole[4:cut])
        session = connected()
        commands = from_client(session, frame + struct.pack(">ihhi", 8, 1, 4, 7))
        assert [type(c) for c in commands[-3:]] == [Counted, ToBroker, Passed], cut


def test_f04_a_version_that_the_broker_lacks_makes_the_client_unknown_until_it_asks_again() -> None:
    session = connected()
    request = captured("kafka-python 3.0.12", "request")
    newer = request[:6] + struct.pack(">h", 99) + request[8:]
    from_client(session, newer)
    refusal = response(UNSUPPORTED_VERSION, 0)
    commands = from_broker(session, refusal)
    assert commands[-1] == ToClient(refusal)
    assert isinstance(commands[0], Identified) and commands[0].identity.software_name == "unknown"
    from_client(session, request)
    from_broker(session, response())
    assert session.identity.software_name == "kafka-python"


def test_an_api_versions_request_that_cannot_be_read_passes_unchanged() -> None:
    frame = struct.pack(">ihhihB", 11 + 3, 18, 3, 1, -1, 0) + b"\xff\xff\xff"
    session = Session()
    assert from_client(session, frame) == [Counted("unreadable_frames", "api_versions_truncated"), ToBroker(frame)]
    (answer,) = from_broker(session, response(version=3))
    assert answer == ToClient(response(version=3))
    assert session.identity.software_name == "unknown"
    for code, name in ((INVALID_REQUEST, "apache-kafka-java"), (0, "unknown")):
        introduces(session, None)
        from_client(session, frame)
        from_broker(session, response(code, version=3))
        assert session.identity.software_name == name, "what the broker refuses was not said"


def test_an_api_versions_answer_that_cannot_be_read_passes_unchanged(session: Session) -> None:
    from_client(session, captured("clientscope producer", "request"))
    frame = struct.pack(">iih", 6, 1, 0)
    assert from_broker(session, frame) == [Counted("unreadable_frames", "api_versions_response"), ToClient(frame)]


def v5(rest: bytes) -> bytes:
    return in_frame(head(18, 5, 9, b"app"), b"\0\x05java\x045.0", rest)


INSTANCE = uuid.UUID("0b1e9f5c-8a3e-4a7e-9df0-d2a1c6c10b11")


def test_the_texts_v5_gives_the_instance_id_and_goes_upstream_as_v4(session: Session) -> None:
    (command,) = from_client(session, v5(INSTANCE.bytes + b"\0"))
    assert isinstance(command, ToBroker)
    seen = api_versions.read_request(command.data)
    assert (command.data[6:12], seen.software_name, seen.instance_id) == (struct.pack(">hi", 4, 9), "java", None)
    from_broker(session, response(version=4, correlation_id=9))
    assert session.identity == Identity("app", "java", "5.0", INSTANCE)


@pytest.mark.parametrize(
    "rest",
    [b"\0" + b"\0\0\0\1" + b"\0", b"\x0e" + b"c" * 13 + b"\0\0\0\1" + b"\0", b"\0" + b"\xff" * 4 + b"\1\x09\1x", b"\xff" * 7],
    ids=["", "with a text", "with a tag", "neither v5"],
)
def test_kafkas_own_v5_goes_upstream_untouched(rest: bytes) -> None:
    frame = v5(rest)
    assert from_client(Session(), frame)[-1] == ToBroker(frame)


LONGEST_ANSWER = 16 * READ_LIMIT


@pytest.mark.parametrize(
    ("key", "length", "ended"),
    [
        (18, LONGEST_ANSWER, None),
        (18, LONGEST_ANSWER + 1, "long_answer"),
        (18, 2**31 - 1, "long_answer"),
        (PUSH_CONFIG, LONGEST_ANSWER + 1, "long_answer"),
        (1, LONGEST_ANSWER + 1, None),
        (1, 2**31 - 1, None),
    ],
    ids=["read", "too long", "endless", "to a carrier", "not read", "endless, not read"],
)
def test_rejects_oversized_answer(key: int, length: int, ended: str | None) -> None:
    """What is read is held until it is whole, so it has a longest length; what only passes may be of any."""
    played = Played(connected())
    played.client(request_frame(key, 0, 7))
    begun = struct.pack(">i", length) + played.to_broker[8:12] + bytes(1_000)
    played.broker(begun)
    assert played.ended == ended
    assert played.connection.session.held_bytes == (len(begun) if key == 18 and ended is None else 0)
    assert len(played.to_client) == (len(begun) if key == 1 else 0)
    if key == 18 and ended is None:
        played.broker(bytes(length + 4 - len(begun)))
        assert len(played.to_client) == length + 4


def requested(
    api_key: int, api_version: int, client_id: str | None, body: bytes = b"", correlation_id: int = 7, flexible: bool = False
) -> bytes:
    """A request of which only the header matters."""
    return in_frame(head(api_key, api_version, correlation_id, None if client_id is None else client_id.encode()), b"\0" * flexible, body)


PRODUCED = b"\x00" + struct.pack(">hi", 0, 30_000) + b"\x01\x00"
"""The body of Produce version 9: no transactional.id, acks=0, a timeout, no topics."""


def introduces(session: Session, client_id: str | None, correlation_id: int = 1) -> None:
    body = b"\x12apache-kafka-java\x064.4.0\x00"
    from_client(session, requested(18, 3, client_id, body, correlation_id, flexible=True))
    from_broker(session, response(version=3, correlation_id=correlation_id))


@pytest.mark.parametrize("later", [None, ""])
def test_keeps_the_name_of_a_connections_first_request(later: str | None) -> None:
    """KIP-1313: later requests have no client.id."""
    session = Session(fields=Shared(MOST_HELD))
    introduces(session, "orders-1")
    from_client(session, requested(3, 12, later, flexible=True))
    seen = from_client(session, requested(0, 9, later, PRODUCED, flexible=True))
    assert [dict(each.request.fields)["acks"] for each in seen if isinstance(each, Shown)] == ["0"]
    introduces(session, later, 3)
    assert (session.identity.client_id, session.identity.software_name) == ("orders-1", "apache-kafka-java")


@pytest.mark.parametrize(
    ("name", "code", "kept"),
    [("", INVALID_REQUEST, True), ("-x", INVALID_REQUEST, True), ("ä b", INVALID_REQUEST, True), ("a", UNSUPPORTED_VERSION, False)],
)
def test_keeps_the_name_where_the_broker_refuses(session: Session, name: str, code: int, kept: bool) -> None:
    """And the software that was said before, unless the broker lacks the version."""
    introduces(session, "orders-1")
    said = name.encode()
    from_client(session, requested(18, 3, None, bytes([len(said) + 1]) + said + b"\x021\x00", 2, flexible=True))
    from_broker(session, response(code, version=3 if kept else 0, correlation_id=2))
    assert (session.identity.client_id, session.identity.software_name) == ("orders-1", "apache-kafka-java" if kept else "unknown")


@pytest.mark.parametrize("first", [None, ""])
@pytest.mark.parametrize("api_key", [0, 1, 3, 17, 71])
@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize("look", [False, True])
def test_takes_the_name_of_a_later_request(first: str | None, api_key: int, before: int, look: bool) -> None:
    session = Session(fields=Shared(MOST_HELD) if look else None)
    introduces(session, first)
    for number in range(before):
        data = requested(3, 12, first, correlation_id=10 + number, flexible=True)
        assert b"".join(bytes(each.data) for each in from_client(session, data) if isinstance(each, (Passed, ToBroker))) == data
    found = [each.identity.client_id for each in from_client(session, requested(api_key, 9, "orders-1")) if isinstance(each, Identified)]
    assert found == ["orders-1"] and session.identity.client_id == "orders-1"
    assert session.passes_from_client(requested(22, 9, None)) or from_client(session, requested(22, 9, None))
    assert not [each for each in from_client(session, requested(3, 9, "billing-1")) if isinstance(each, Identified)]
    assert session.identity.client_id == "orders-1", "another name counts in ApiVersions alone"
    introduces(session, "billing-1", 9)
    assert session.identity.client_id == "billing-1"
