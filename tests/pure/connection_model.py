"""Whole connections, played through a session between a hostile client and a model of Kafka's broker that knows the truth (F41).

The model answers as `SocketServer` and `SaslServerAuthenticator` do, in order, and closes where they close. The same client talks to one
model directly: what it gets there, and who it is there, is what must come out of the session between it and another.
"""

from __future__ import annotations

import struct
import uuid
from dataclasses import dataclass, field
from functools import partial
from random import Random

from frame_bytes import compact, in_frame, request_frame
from played import Played, frames, request_id

from clientscope.errors import WireError
from clientscope.session.session import Session
from clientscope.session.shown import SharedFields
from clientscope.session.state import Verdict
from clientscope.session.unanswered import FIRST_ID, IDS
from clientscope.wire import api_versions
from clientscope.wire.codes import PUSH_CONFIG
from clientscope.wire.cursor import Cursor, write_tags
from clientscope.wire.describe_cluster import BrokerSoftware, with_software
from clientscope.wire.messages import PushConfigResponse

USERS = {"alice": "secret", "mallory": "secret", "Gary": "secret"}
SOFTWARE = BrokerSoftware("Kafka", "4.4.0")
LIFETIME_MS = 60_000
_IDS = [0, 0, 1, 1, 1, 2, 7, -1, 2**31 - 1, FIRST_ID, FIRST_ID, FIRST_ID + 1, FIRST_ID + 2, FIRST_ID + 63, FIRST_ID + IDS - 1, FIRST_ID - 1]
_NAMES = ["java", "librdkafka", "x", "a-b.c", "", "-bad", "n" * 600]
asking = partial(request_frame, client_id=b"app")
_ECHO = 1
"""Fetch's key: the model answers it with the bytes that the request carries, whatever these look like."""


def keys_answer(correlation_id: int, version: int, code: int = 0) -> bytes:
    """A broker's answer to ApiVersions: three keys."""
    ranges = [struct.pack(">hhh", key, 0, 9) for key in (0, 18, 60)]
    if version >= 3:
        return in_frame(struct.pack(">ih", correlation_id, code), b"\4", *(entry + b"\0" for entry in ranges), bytes(5))
    throttle = bytes(4) if version else b""
    return in_frame(struct.pack(">ihi", correlation_id, code, 3), *ranges, throttle)


@dataclass
class Broker:
    """One connection at a broker.

    Attributes:
        principal: None before SASL has succeeded, and on a listener without it.
        software: name and version, as its JMX would show them.
    """

    sasl: bool
    reauthenticates: bool
    principal: str | None = None
    software: tuple[str, str] = ("unknown", "unknown")
    closed: bool = False
    exchange: str = ""
    bare: bool = False
    asked: bool = False
    kept: dict[str, object] = field(default_factory=dict)

    @property
    def ready(self) -> bool:
        """Whether any request is served."""
        return not self.exchange and (not self.sasl or self.principal is not None)

    def receive(self, request: bytes) -> bytes:
        """The answer to one frame; empty where there is none."""
        if self.exchange and self.bare:
            return self._bare_token(request[4:])
        if len(request) < 14:
            return self._close()
        key, version, correlation_id = struct.unpack_from(">hhi", request, 4)
        if not self.ready and key not in ((36,) if self.exchange else (17, 18)):
            return self._close()
        match key:
            case 18:
                return self._api_versions(request, version, correlation_id)
            case 17:
                return self._handshake(request, version, correlation_id)
            case 36:
                return self._authenticate(request, version, correlation_id)
            case 60 if 0 <= version <= 1:
                endpoint_type = b"\1" if version else b""
                return in_frame(struct.pack(">i", correlation_id), bytes(8), endpoint_type, b"\2c", bytes(4), b"\1", bytes(5))
            case 71 if version == 0:
                return in_frame(struct.pack(">i", correlation_id), b"\0", bytes(4), b"\0\0", uuid.UUID(int=71).bytes, bytes(20))
            case 0:
                acks = struct.unpack_from(">h", request, len(request) - 2)[0]
                return in_frame(struct.pack(">i", correlation_id), b"produced") if acks else b""
            case 16:
                return in_frame(struct.pack(">iihi", correlation_id, 0, 0, 0))
            case 1:
                return in_frame(struct.pack(">i", correlation_id), request[17:])
        return self._close()

    def _close(self) -> bytes:
        self.closed = True
        return b""

    def _api_versions(self, request: bytes, version: int, correlation_id: int) -> bytes:
        if not 0 <= version <= 4:
            self.software = ("unknown", "unknown")
            return keys_answer(correlation_id, 0, 35)
        name, text = "unknown", "unknown"
        if version >= 3:
            cursor = Cursor(request, 12)
            cursor.nullable_string()
            for _ in range(cursor.uvarint()):
                cursor.uvarint()
                cursor.take(cursor.uvarint())
            name, text = cursor.compact_string(), cursor.compact_string()
            if not name or name.startswith("-"):
                return in_frame(struct.pack(">ih", correlation_id, 42), b"\1", bytes(5))
        if not self.ready and self.asked:
            return self._close()  # SaslServerAuthenticator takes one ApiVersions before the handshake
        self.asked, self.software = True, (name, text)
        return keys_answer(correlation_id, version)

    def _handshake(self, request: bytes, version: int, correlation_id: int) -> bytes:
        mechanism = request[19:].decode()
        if not self.sasl or (self.principal is not None and not self.reauthenticates):
            return in_frame(struct.pack(">ihi", correlation_id, 34, 0))
        if mechanism != "PLAIN":
            self.closed = True
            return in_frame(struct.pack(">ihi", correlation_id, 33, 0))
        self.exchange, self.bare = mechanism, version == 0
        return in_frame(struct.pack(">ihi", correlation_id, 0, 0))

    def _accepts(self, token: bytes) -> bool:
        try:
            authzid, name, password = token.decode().split("\0")
        except ValueError:
            return False
        if authzid or USERS.get(name) != password or self.principal not in (None, f"User:{name}"):
            return False
        self.principal, self.exchange = f"User:{name}", ""
        return True

    def _bare_token(self, token: bytes) -> bytes:
        return in_frame() if self._accepts(token) else self._close()

    def _authenticate(self, request: bytes, version: int, correlation_id: int) -> bytes:
        if not self.exchange:
            return in_frame(struct.pack(">ihhi", correlation_id, 34, -1, 0), struct.pack(">q", 0) if version else b"")
        size = struct.unpack_from(">i", request, 17)[0]
        if not self._accepts(request[21 : 21 + size]):
            self.closed = True
            return in_frame(struct.pack(">ihhi", correlation_id, 58, -1, 0), struct.pack(">q", 0) if version else b"")
        lifetime_ms = LIFETIME_MS if self.reauthenticates else 0
        return in_frame(struct.pack(">ihhi", correlation_id, 0, -1, 0), struct.pack(">q", lifetime_ms) if version else b"")


def request(chance: Random) -> bytes:
    """One frame that a client may send."""
    correlation_id = chance.choice((*_IDS, FIRST_ID + chance.randrange(12)))
    match chance.randrange(14):
        case 0 | 1:
            version, name = chance.choice((0, 2, 3, 3, 4, 9)), chance.choice(_NAMES)
            if version < 3 or version > 4:
                return asking(18, version, correlation_id, b"\0\2x\0020\0" if version > 4 else b"")
            tags = []
            if chance.random() < 0.3:
                tags.append((1324, uuid.UUID(int=chance.randrange(3)).bytes))
            if chance.random() < 0.1:
                tags += [(2000 + number, b"") for number in range(70)]
            return asking(18, version, correlation_id, b"\0", compact(name.encode()), compact(b"1.0"), write_tags(tags))
        case 2 | 3:
            version = chance.choice((0, 1, 1))
            mechanism = chance.choice((b"PLAIN", b"PLAIN", b"PLAIN", b"GSSAPI"))
            return asking(17, version, correlation_id, struct.pack(">h", len(mechanism)), mechanism)
        case 4 | 5:
            text = token(chance)
            return asking(36, chance.choice((0, 1)), correlation_id, in_frame(text))
        case 6:
            return in_frame(token(chance))
        case 7:
            return asking(60, chance.choice((0, 1)), correlation_id, bytes(3))
        case 8:
            return asking(71, 0, correlation_id, b"\0", bytes(16), b"\0")
        case 9:
            return asking(0, 9, correlation_id, struct.pack(">h", chance.choice((0, 0, 1, -1))))
        case 10:
            return asking(16, 1, correlation_id)
        case 11:
            return asking(_ECHO, 4, correlation_id, answer_like(chance))
        case 12:
            return push(correlation_id, chance)
        case _:
            return b"".join(asking(_ECHO, 4, correlation_id, bytes(10)) for _ in range(chance.choice((2, 30, 300))))


def token(chance: Random) -> bytes:
    name = chance.choice(list(USERS))
    return f"\0{name}\0{chance.choice(('secret', 'secret', 'wrong'))}".encode()


def answer_like(chance: Random) -> bytes:
    """Bytes that look like an answer to something else, without its correlation id."""
    lookalikes = (
        keys_answer(0, 0)[8:],
        keys_answer(0, 3)[8:],
        bytes(10),
        struct.pack(">hhiq", 0, -1, 0, LIFETIME_MS),
        struct.pack(">hhi", 0, -1, 0),
        b"",
    )
    return chance.choice(lookalikes)


def push(correlation_id: int, chance: Random) -> bytes:
    good = b"\2\5acks\4all\1\0\0\0"
    body = chance.choice((good, good, b"\1\0", b"\xff", b"\2\1\1\1\0\0\0"))
    return asking(PUSH_CONFIG, 0, correlation_id, b"\0", body)


def push_answer(correlation_id: int, body: bytes) -> bytes:
    """Which code a push is answered with; what the text says is the session's own."""
    good = body.startswith(b"\2\5acks")
    return struct.pack(">ih", correlation_id, 0 if good else 42)


def is_push(request_frame: bytes) -> bool:
    return len(request_frame) >= 14 and struct.unpack_from(">h", request_frame, 4)[0] == PUSH_CONFIG


@dataclass(frozen=True)
class Case:
    """A connection: what the client sends, and how it comes in pieces."""

    seed: int
    sasl: bool
    reauthenticates: bool
    declared: bool
    requests: tuple[bytes, ...]

    @classmethod
    def of(cls, seed: int) -> Case:
        chance = Random(seed)  # noqa: S311
        sasl = chance.random() < 0.5
        requests = [request(chance) for _ in range(chance.choice((2, 5, 10, 20)))]
        if sasl and chance.random() < 0.8:
            user = chance.choice(list(USERS))
            text = f"\0{user}\0secret".encode()
            version = chance.choice((0, 1, 1))
            first = [asking(17, version, chance.choice(_IDS), b"\0\5PLAIN")]
            first.append(in_frame(text) if version == 0 else asking(36, 1, chance.choice(_IDS), in_frame(text)))
            requests = first + requests
        return cls(seed, sasl, chance.random() < 0.4, chance.random() < 0.5, tuple(requests))


@dataclass
class Truth:
    """What a client that talks to the broker directly sees, and who it is there."""

    answers: list[bytes] = field(default_factory=list)
    refused: bool = False
    instance: uuid.UUID | None = None
    readable: bool = True

    @classmethod
    def of(cls, case: Case) -> tuple[Truth, Broker]:
        truth, broker = cls(), Broker(case.sasl, case.reauthenticates)
        for each in frames(b"".join(case.requests)):
            if is_push(each) and not (broker.exchange and broker.bare):
                if not broker.ready:
                    truth.refused = True  # the gateway closes, as Kafka does
                    break
                truth.answers.append(push_answer(request_id(each), each[18:]))
                continue
            answer = broker.receive(each)
            if answer:
                truth.answers.append(truth.patched(each, answer, broker, case.declared))
            if broker.closed:
                break
        return truth, broker

    def patched(self, asked: bytes, answer: bytes, broker: Broker, declared: bool) -> bytes:
        """The answer as the gateway gives it on."""
        if broker.bare and len(answer) == 4:
            return answer
        key, version = struct.unpack_from(">hh", asked, 4)
        code = struct.unpack_from(">h", answer, 8)[0] if len(answer) >= 10 else -1
        if key == 18 and code in (0, 35):
            self.readable = True
            if version in (3, 4):
                self._said(asked)
            return api_versions.advertise(answer, version, PUSH_CONFIG, 0, 0) if code == 0 and self.readable else answer
        if key == 71:
            self.instance = self.instance or uuid.UUID(int=71)
        return with_software(answer, version, SOFTWARE) if key == 60 and declared else answer

    def _said(self, asked: bytes) -> None:
        try:
            said = api_versions.read_request(asked)
        except WireError:
            self.readable = False
        else:
            self.instance = said.instance_id or self.instance


def play(case: Case, look: bool = False) -> None:
    """Plays a case and compares.

    Args:
        look: makes an event of all bytes, also of those that a transport passes without one.

    Raises:
        AssertionError: order, bytes or identity differ from the truth.
    """
    truth, direct = Truth.of(case)
    now_s = [0.0]
    declared = SOFTWARE if case.declared else None
    session = Session(True, 10_240, case.sasl, declared, clock=lambda: now_s[0], fields=SharedFields())
    played = Played(session, Verdict(0), look)
    broker = Broker(case.sasl, case.reauthenticates)
    chance = Random(case.seed)  # noqa: S311
    to_send, answers, read = b"".join(case.requests), b"", 0
    while played.ended is None:
        if to_send and not played.holds and chance.random() < 0.6:
            size = chance.choice((1, 7, 13, 60, 500, 100_000))
            data, to_send = to_send[:size], to_send[size:]
            played.client(data)
        elif not broker.closed and (asked := _whole(played.to_broker, read)):
            read += len(asked)
            answers += broker.receive(asked)
        elif answers:
            size = chance.choice((1, 9, 40, 100_000))
            data, answers = answers[:size], answers[size:]
            played.broker(data)
        elif played.held_s is not None and not broker.closed:
            now_s[0] += played.held_s
            played.resume()
        elif broker.closed or not to_send or played.holds:
            break
        assert session.identity.principal in (None, direct.principal), "nobody else's principal, at no time"
    assert played.ended is None or truth.refused or direct.closed, played.ended
    got = [_comparable(each) for each in frames(bytes(played.to_client))]
    want = [_comparable(each) for each in truth.answers]
    if played.ended is not None:
        assert got == want[: len(got)]
        return
    assert got == want
    assert session.identity.principal == direct.principal
    expected = direct.software if truth.readable else ("unknown", "unknown")
    assert (session.identity.software_name, session.identity.software_version) == expected
    assert session.identity.instance_id == truth.instance
    assert broker.software == direct.software, "the gateway's own requests change nothing at the broker"


def _whole(stream: bytearray, at: int) -> bytes:
    """The frame that begins there; nothing while it isn't whole."""
    size = 4 + struct.unpack_from(">i", stream, at)[0] if len(stream) >= at + 4 else 0
    return bytes(stream[at : at + size]) if size and len(stream) >= at + size else b""


def _comparable(answer: bytes) -> bytes:
    """An answer, of which of a push's only the code counts."""
    if len(answer) >= 15:
        try:
            message = PushConfigResponse.decode(answer[4:], version=0, header=True)
        except (ValueError, EOFError, struct.error, IndexError, TypeError):
            return answer
        if bytes(message.encode(header=True, framed=True)) == answer and message.throttle_time_ms == 0 and message.error_code in (0, 42):
            return answer[4:8] + struct.pack(">h", message.error_code)
    return answer
