"""The two sides of a session, simulated with the ids that the client chose: most tests needn't know the gateway's own ids."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from frame_bytes import renumbered
from kafka.protocol.metadata import ApiVersionsResponse

from clientscope.session.connection import ClientConnection
from clientscope.session.events import (
    BROKER,
    CLIENT,
    Connected,
    ConnectionCommand,
    ConnectionEvent,
    End,
    PushAnswered,
    Received,
    Send,
    Wake,
    Woken,
)  # fmt: skip
from clientscope.session.playbook import play
from clientscope.session.session import Out, Session
from clientscope.session.state import Held, PushAnswer, Pushed, ToBroker
from clientscope.session.unanswered import is_ours
from clientscope.wire.messages import ApiVersionsRequest, PushConfigRequest

_TURN_S = 0.01
"""What is held for less only leaves others their turn."""


class Played:
    """A connection with two simulated sides: bytes held for other connections' turn continue at once, others when `resume` is called.

    Args:
        answer: the answer to each push when its turn has come; without one, the caller answers.

    Attributes:
        to_broker, to_client: all bytes that each side has received.
        held_s: how long the client is held, if only time frees it; None if it isn't held or waits for an answer.
        ended: why the connection has ended; None if it hasn't.
    """

    def __init__(self, session: Session, answer: PushAnswer | None = None) -> None:
        self.connection = ClientConnection(session)
        self._answer = answer
        self.to_broker = bytearray()
        self.to_client = bytearray()
        self.held_s: float | None = None
        self.ended: str | None = None
        for side in (CLIENT, BROKER):
            self._play(Connected(side))

    @property
    def holds(self) -> bool:
        """Whether something of the client's waits."""
        return self.connection.paused(CLIENT)

    @property
    def sent(self) -> list[bytes]:
        """The frames that went to the broker."""
        return list(frames(bytes(self.to_broker)))

    def client(self, data: bytes) -> list[ConnectionCommand]:
        """Bytes from the client."""
        return self._play(Received(CLIENT, data))

    def broker(self, data: bytes) -> list[ConnectionCommand]:
        """Bytes from the broker, and then what they free of the client's."""
        return self._play(Received(BROKER, data))

    def answers(self, frame: bytes, size: int = 1 << 20) -> list[ConnectionCommand]:
        """The broker's answer to the last request that it has got, in pieces of this size."""
        own = renumbered(frame, request_id(self.sent[-1]))
        return [command for at in range(0, len(own), size) for command in self.broker(own[at : at + size])]

    def resume(self) -> list[ConnectionCommand]:
        """The time has come for which the client was held."""
        self.held_s = None
        return self._play(Woken(CLIENT))

    def _play(self, first: ConnectionEvent) -> list[ConnectionCommand]:
        done: list[ConnectionCommand] = []
        events = [first]
        while events:
            commands = play(self.connection, events.pop(0))
            for command in commands:
                match command:
                    case Send(side, data):
                        (self.to_client if side is CLIENT else self.to_broker).extend(data)
                    case Wake(side, seconds) if seconds <= _TURN_S:
                        events.append(Woken(side))
                    case Wake(_, seconds):
                        self.held_s = seconds
                    case Pushed(token) if self._answer is not None:
                        events.append(PushAnswered(token, self._answer))
                    case End(reason):
                        self.ended = reason
            done += commands
        return done


def framed(message: Any, correlation_id: int, client_id: str | None = None) -> bytes:
    """A message of kafka-python's as it is sent."""
    message.with_header(*([correlation_id] if client_id is None else [correlation_id, client_id]))
    return bytes(message.encode(header=True, framed=True))


def hello(name: str, software_version: str = "1", version: int = 3, correlation_id: int = 1, **fields: Any) -> bytes:
    """An ApiVersions request, in which a client says who it is."""
    said = ApiVersionsRequest(version=version, client_software_name=name, client_software_version=software_version, **fields)
    return framed(said, correlation_id, "app")


def answer_to_hello(ranges: Mapping[int, tuple[int, int]] = {}, version: int = 0, correlation_id: int = 5, code: int = 0) -> bytes:
    """A broker's answer to it: the least and the newest version of each key."""
    key = ApiVersionsResponse.ApiVersion
    keys = [key(version=version, api_key=number, min_version=least, max_version=newest) for number, (least, newest) in ranges.items()]
    return framed(ApiVersionsResponse(version=version, error_code=code, api_keys=keys), correlation_id)


def push_config(*settings: tuple[str, str, int, bool]) -> PushConfigRequest:
    """A push of these: key, value, type, and whether it is the default."""
    names = ("config_key", "config_value", "config_type", "is_default")
    configs = [PushConfigRequest.Config(version=0, **dict(zip(names, each, strict=True))) for each in settings]
    return PushConfigRequest(version=0, configs=configs)


def frames(stream: bytes) -> Iterator[bytes]:
    """Whole frames, one after the other; the last may be cut off."""
    while stream:
        size = 4 + struct.unpack_from(">i", stream)[0] if len(stream) >= 4 else len(stream)
        yield stream[:size]
        stream = stream[size:]


def request_id(frame: bytes) -> int:
    return int(struct.unpack_from(">i", frame, 8)[0])


def from_client(session: Session, data: bytes) -> list[Out]:
    """What the session yields, up to where it is held; requests that it has read are shown under the client's ids."""
    done: list[Out] = []
    for command in session.from_client(data):
        if isinstance(command, Held):
            break
        if isinstance(command, ToBroker) and len(command.data) >= 12 and is_ours(own := request_id(command.data)):
            asked = session.unanswered.pending()[own].client_id
            done.append(replace(command, data=command.data[:8] + struct.pack(">i", asked) + command.data[12:]))
        else:
            done.append(command)
    return done


def under_own_ids(session: Session, data: bytes) -> bytes:
    """Answers to the client's ids as a broker gives them; the oldest request of an id is answered first."""
    answers = b""
    waiting = {pending.client_id: own for own, pending in reversed(session.unanswered.pending().items())}
    for frame in frames(data):
        asked = struct.unpack_from(">i", frame, 4)[0] if len(frame) >= 8 else None
        answers += renumbered(frame, waiting[asked]) if asked in waiting else frame
    return answers


def from_broker(session: Session, data: bytes) -> list[Out]:
    """What the session yields for answers to the client's ids."""
    return list(session.from_broker(under_own_ids(session, data)))
