"""session/sasl: the principal that the broker accepted is known from the bytes that pass; without one, a client can't push."""

from __future__ import annotations

import base64
import gc
import json
import re
import struct
from types import FunctionType, ModuleType
from typing import Any

import pytest
from every import every
from frame_bytes import in_frame
from golden import cases
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from played import Played, answer_to_hello, framed, from_broker, from_client, hello, push_config

from clientscope.errors import WireError
from clientscope.model.enums import PrincipalSource
from clientscope.session import sasl
from clientscope.session.session import Session
from clientscope.session.state import Identified, ToBroker, ToClient
from clientscope.session.unanswered import FIRST_ID, IDS
from clientscope.wire.frames import Passed

PLAIN = b"\0alice\0canary-password"


@pytest.fixture
def session() -> Session:
    return Session(sasl=True)


def jwt(payload: Any) -> bytes:
    """Without a signature."""
    return b".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in ({"alg": "none"}, payload))


def first_message(payload: Any) -> bytes:
    return b"n,,\x01auth=Bearer %b.\x01\x01" % jwt(payload)


def handshake(session: Session, mechanism: str, version: int = 1, code: int = 0) -> None:
    """The client's request and the broker's answer; both pass as they are."""
    request = framed(SaslHandshakeRequest(version=version, mechanism=mechanism), 7, "orders")
    assert ToBroker(request) in from_client(session, request)
    response = framed(SaslHandshakeResponse(version=version, error_code=code, mechanisms=[mechanism]), 7)
    assert from_broker(session, response) == [ToClient(response)]


def authenticate(session: Session, token: bytes, answer: bytes, version: int = 2, code: int = 0, lifetime_ms: int = 0) -> list[Any]:
    request = framed(SaslAuthenticateRequest(version=version, auth_bytes=token), 8, "orders")
    assert from_client(session, request) == [ToBroker(request)]
    message = SaslAuthenticateResponse(
        version=version, error_code=code, error_message="no" if code else None, auth_bytes=answer, session_lifetime_ms=lifetime_ms
    )
    response = framed(message, 8)
    commands = from_broker(session, response)
    assert commands[-1] == ToClient(response)
    return commands[:-1]


def push() -> bytes:
    return framed(push_config(("acks", "all", 1, False)), 9, "orders")


def who(session: Session) -> tuple[str | None, int, bool]:
    return session.identity.principal, session.identity.principal_source, session.authenticated


def texts_below(whole: object) -> list[bytes]:
    """Each text that an object refers to, directly or not."""
    seen: dict[int, object] = {}
    left = [whole]
    while left:
        each = left.pop()
        if id(each) not in seen and not isinstance(each, type | ModuleType | FunctionType):
            seen[id(each)] = each
            left += gc.get_referents(each)
    return [each.encode() if isinstance(each, str) else bytes(each) for each in seen.values() if isinstance(each, str | bytes | bytearray)]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_plain(session: Session, version: int) -> None:
    handshake(session, "PLAIN")
    (identified,) = authenticate(session, PLAIN, b"", version)
    assert identified == Identified(session.identity)
    assert who(session) == ("User:alice", PrincipalSource.PLAIN, True)
    assert any(b"alice" in text for text in texts_below(session))
    assert not any(b"canary-password" in text for text in every(texts_below(session)))


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize(
    ("first", "name", "source"),
    [
        (b"n,,n=al=2Cice=3D,r=nonce", "User:al,ice=", PrincipalSource.SCRAM),
        # A delegation token's id is nobody's name.
        (b"n,,n=tokenid,r=nonce,tokenauth=true", None, PrincipalSource.NONE),
    ],
)
def test_scram_only_when_the_server_has_signed(
    session: Session, mechanism: str, first: bytes, name: str | None, source: PrincipalSource
) -> None:
    handshake(session, mechanism)
    assert authenticate(session, first, b"r=nonce2,s=c2FsdA==,i=4096") == []
    assert who(session) == (None, PrincipalSource.NONE, False)
    authenticate(session, b"c=biws,r=nonce2,p=cHJvb2Y=", b"v=c2lnbmF0dXJl")
    assert who(session) == (name, source, True)


@pytest.mark.parametrize(
    ("mechanism", "token", "answer", "code", "expected"),
    [
        ("OAUTHBEARER", first_message({"sub": "billing-svc"}), b"", 0, ("User:billing-svc", PrincipalSource.TOKEN, True)),
        # A refused token is answered without an error code, and is refused all the same.
        ("OAUTHBEARER", first_message({"sub": "mallory"}), b'{"status":"invalid_token"}', 0, (None, PrincipalSource.NONE, False)),
        ("PLAIN", PLAIN, b"", 58, (None, PrincipalSource.NONE, False)),
    ],
    ids=["a token's subject", "a refused token", "a wrong password"],
)
def test_the_answer_decides(
    session: Session, mechanism: str, token: bytes, answer: bytes, code: int, expected: tuple[str | None, int, bool]
) -> None:
    handshake(session, mechanism)
    authenticate(session, token, answer, code=code)
    assert who(session) == expected


def test_a_mechanism_that_the_broker_lacks_begins_nothing(session: Session) -> None:
    handshake(session, "PLAIN", code=33)
    assert not session.authenticated
    handshake(session, "SCRAM-SHA-256")


@pytest.mark.parametrize(
    ("mechanism", "tokens"),
    [
        ("PLAIN", [(b"\0a\0b", b"")]),
        ("PLAIN", [(b"\0Gary\0" + b"x" * 40, b"")]),  # "\0G" is an api key of Kafka's
        ("SCRAM-SHA-512", [(b"n,,n=a,r=1", b"r=12,s=,i=4096"), (b"c=biws,r=12,p=", b"v=")]),
    ],
)
def test_bare_tokens_of_handshake_v0_and_requests_after_them(session: Session, mechanism: str, tokens: list[tuple[bytes, bytes]]) -> None:
    handshake(session, mechanism, version=0)
    for token, answer in tokens:
        assert not session.authenticated
        assert not session.passes_from_client(in_frame(token)) and not session.passes_from_broker(in_frame(answer))
        assert from_client(session, in_frame(token)) == [ToBroker(in_frame(token))]
        assert from_broker(session, in_frame(answer))[-1] == ToClient(in_frame(answer))
    assert session.authenticated
    assert str(session.identity.principal).startswith(("User:a", "User:Gary"))
    request, response = hello("old"), answer_to_hello({}, 3, 1)
    assert from_client(session, request) == [ToBroker(request)]
    assert any(isinstance(command, ToClient) and len(command.data) > len(response) for command in from_broker(session, response))
    assert (session.identity.software_name, session.identity.client_id) == ("old", "app")


def test_again_on_the_same_connection_by_the_same_user_alone(session: Session) -> None:
    for name in ("alice", "mallory"):  # Kafka refuses another principal on one connection
        handshake(session, "PLAIN")
        with pytest.raises(WireError, match="unauthenticated_push"):
            from_client(session, push())
        authenticate(session, f"\0{name}\0secret".encode(), b"", lifetime_ms=5_000)
    assert who(session) == ("User:alice", PrincipalSource.PLAIN, True)


def test_f41_nothing_of_sasl_is_read_once_the_broker_has_accepted_for_good(session: Session) -> None:
    handshake(session, "PLAIN")
    authenticate(session, PLAIN, b"")
    request = framed(SaslHandshakeRequest(version=1, mechanism="PLAIN"), 7, "orders")
    assert from_client(session, request) == [Passed(request)]
    assert session.authenticated


def test_f12_a_push_before_authentication_has_succeeded_ends_the_connection() -> None:
    session = Session(sasl=True)
    with pytest.raises(WireError, match="unauthenticated_push"):
        from_client(session, push())
    session = Session(sasl=True)
    handshake(session, "PLAIN")
    token = framed(SaslAuthenticateRequest(version=2, auth_bytes=PLAIN), 8, "orders")
    played = Played(session)
    played.client(token + push())
    assert (len(played.sent), played.ended) == (1, None), "what is behind a step of SASL waits for its answer"
    refusal = SaslAuthenticateResponse(version=2, error_code=58, error_message="no", auth_bytes=b"", session_lifetime_ms=0)
    (own,) = session.unanswered.pending()
    played.broker(framed(refusal, own))
    assert played.ended == "unauthenticated_push"


@pytest.mark.parametrize(("sasl_listener", "steps", "more", "ended", "carriers"), cases(__file__, "used_up.txt"))
def test_f41_sends_no_carrier_into_unfinished_sasl(sasl_listener: str, steps: str, more: str, ended: str, carriers: str) -> None:
    """A client that has used up the gateway's ids waits for a carrier's answer; where SASL allows no carrier, it is cut off."""
    ids = IDS // 2 + int(more)
    session = Session(sasl=sasl_listener == "True")
    for step in steps.split():
        if step == "handshake":
            handshake(session, "PLAIN")
        else:
            authenticate(session, PLAIN, b"", lifetime_ms=5_000)
    played = Played(session)
    for number in range(ids):
        played.client(struct.pack(">ihhi", 8, 0, 9, FIRST_ID + IDS - 1 - number))
    sent = [struct.unpack_from(">h", frame, 4)[0] for frame in played.sent]
    assert (played.ended or "", str(sent.count(18)), played.holds) == (ended, carriers, carriers != "0")
    assert sent[:ids] == [0] * (len(sent) if ended else ids), "the client's own requests, each as it was sent"
    for own in session.unanswered.pending():
        played.broker(answer_to_hello(correlation_id=own))
    assert not played.holds, "a carrier's answer settles all ids before it"


@given(
    st.sampled_from(["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER", "GSSAPI"]),
    st.binary(max_size=200),
    st.sampled_from([b"", b"n,,\x01auth=Bearer a."]),
)
def test_any_token_is_somebody_or_nobody(mechanism: str, token: bytes, before: bytes) -> None:
    principal = sasl.claimed(mechanism, before + token)
    assert (principal.name is None) == (principal.source is PrincipalSource.NONE)


@pytest.mark.parametrize(("mechanism", "token", "name"), cases(__file__, "tokens.txt"))
def test_f41_a_token_names_the_principal_that_kafka_reads_in_it(mechanism: str, token: str, name: str) -> None:
    raw = re.sub("‹(.*?)›", lambda found: jwt(json.loads(found[1])).decode(), token).encode().decode("unicode_escape").encode()
    assert (sasl.claimed(mechanism, raw).name or "") == name


@pytest.mark.parametrize("sasl_listener", [False, True])
def test_a_certificate_names_its_owner_unless_sasl_does(sasl_listener: bool) -> None:
    session = Session(True, 10_000, sasl=sasl_listener)
    reported = session.named_by_certificate("User:CN=alice")
    expected = (None, PrincipalSource.NONE) if sasl_listener else ("User:CN=alice", PrincipalSource.CERTIFICATE)
    assert (session.identity.principal, session.identity.principal_source) == expected
    assert reported == ([] if sasl_listener else [Identified(session.identity)])
    from_client(session, hello("", version=0))
    assert (session.identity.principal, session.identity.principal_source) == expected
