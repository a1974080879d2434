"""A session's two sides, played with the ids that the client chose: what the gateway's own ids are is no concern of most tests."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace

from clientscope.session.session import Out, Session
from clientscope.session.state import Held, Pushed, ToBroker, ToClient, Verdict
from clientscope.session.unanswered import is_ours
from clientscope.wire.frames import Passed

_TURN_S = 0.01
"""What is held for less only leaves others their turn."""


class Played:
    """A session whose two sides are played as `gateway.worker.relay.Relay` does: what it holds goes on once the broker has said more.

    Args:
        verdict: what each push is answered, when its turn has come; without one that is left to the caller.

    Attributes:
        to_broker, to_client: all bytes that either side has got.
        held_s: how long the client is held, where time alone frees it; None where it isn't, or waits for an answer.
    """

    def __init__(self, session: Session, verdict: Verdict | None = None) -> None:
        self.session = session
        self._verdict = verdict
        self.to_broker = bytearray()
        self.to_client = bytearray()
        self.held_s: float | None = None
        self._waiting: list[Iterator[Out]] = []

    @property
    def holds(self) -> bool:
        """Whether something of the client's waits."""
        return bool(self._waiting)

    def client(self, data: bytes) -> list[Out]:
        """Bytes from the client."""
        self._waiting.append(self.session.from_client(data))
        return self.go_on() if len(self._waiting) == 1 else []

    def broker(self, data: bytes) -> list[Out]:
        """Bytes from the broker, and then what they free of the client's."""
        out: list[Out] = []
        for command in self.session.from_broker(data):
            if isinstance(command, Pushed) and self._verdict is not None:
                out += [command, *self._sent(self.session.answer(command.token, self._verdict), self.to_client)]
            elif not isinstance(command, Held):
                out += self._sent([command], self.to_client)
        return out + self.go_on()

    def go_on(self) -> list[Out]:
        """Goes on with what waits, as far as it may."""
        out: list[Out] = []
        self.held_s = None
        while self._waiting:
            for command in self._waiting[0]:
                if not isinstance(command, Held):
                    out += self._sent([command], self.to_broker)
                elif command.seconds is None or command.seconds > _TURN_S:
                    self.held_s = command.seconds
                    return out
            self._waiting.pop(0)
        return out

    def _sent(self, commands: Sequence[Out], passes_to: bytearray) -> Sequence[Out]:
        for command in commands:
            if isinstance(command, Passed):
                passes_to += command.data
            elif isinstance(command, ToBroker):
                self.to_broker += command.data
            elif isinstance(command, ToClient):
                self.to_client += command.data
        return commands


def frames(stream: bytes) -> Iterator[bytes]:
    """Whole frames, one after the other; the last may be cut off."""
    while stream:
        size = 4 + struct.unpack_from(">i", stream)[0] if len(stream) >= 4 else len(stream)
        yield stream[:size]
        stream = stream[size:]


def request_id(frame: bytes) -> int:
    return int(struct.unpack_from(">i", frame, 8)[0])


def from_client(session: Session, data: bytes) -> Iterator[Out]:
    """What the session yields, up to where it is held; requests that it has read are shown under the client's ids."""
    for command in session.from_client(data):
        if isinstance(command, Held):
            return
        if isinstance(command, ToBroker) and len(command.data) >= 12 and is_ours(own := request_id(command.data)):
            asked = session._state.unanswered.client_id(own)
            assert asked is not None
            yield replace(command, data=command.data[:8] + struct.pack(">i", asked) + command.data[12:])
        else:
            yield command


def from_broker(session: Session, data: bytes) -> Iterator[Out]:
    """What the session yields for answers to the client's ids; the oldest request of an id is answered first."""
    answers = b""
    waiting = {asked: own for own, (_, asked, _) in reversed((session._state.unanswered._waiting or {}).items())}
    for frame in frames(data):
        asked = struct.unpack_from(">i", frame, 4)[0] if len(frame) >= 8 else None
        answers += frame[:4] + struct.pack(">i", waiting[asked]) + frame[8:] if asked in waiting else frame
    yield from session.from_broker(answers)
