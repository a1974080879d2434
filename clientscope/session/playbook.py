"""Transcripts of a connection, played and compared: each event must yield exactly the listed commands. For tests.

```python
assert Playbook(connection) >> Received(CLIENT, request) << Send(BROKER, request) >> Eof(CLIENT) << HalfClose(BROKER)
```

mitmproxy's ``Playbook`` is the model. Here events are played as they are added, so a mismatch is raised where it occurs; and bytes go the
way that a transport's go: where they pass, no event is made of them, and the transcript has the `Send` that the transport does itself.
"""

from __future__ import annotations

from clientscope.session.connection import ClientConnection
from clientscope.session.events import BROKER, CLIENT, ConnectionCommand, ConnectionEvent, Received, Send


def play(connection: ClientConnection, event: ConnectionEvent, look: bool = False) -> list[ConnectionCommand]:
    """What a transport does about an event.

    Args:
        look: makes an event of all bytes, as if none passed unlooked at: the commands must come to the same.
    """
    if isinstance(event, Received) and not look:
        passes = connection.passes_from_client if event.side is CLIENT else connection.passes_from_broker
        if passes(event.data):
            return [Send(BROKER if event.side is CLIENT else CLIENT, event.data)]
    return list(connection.handle(event))


class Playbook:
    """``>>`` plays an event, ``<<`` names the next command that it must yield; true if no further command came.

    Bytes that are sent to one side in a row are one `Send`.

    Raises:
        AssertionError: another command came, or none, or one more; with the transcript so far.
    """

    def __init__(self, connection: ClientConnection, look: bool = False) -> None:
        self.connection = connection
        self._look = look
        self._transcript: list[str] = []
        self._came: list[ConnectionCommand] = []

    def __rshift__(self, event: ConnectionEvent) -> Playbook:
        """An event happens."""
        self._nothing_more()
        self._transcript.append(f">> {event}")
        self._came = _merged(play(self.connection, event, self._look))
        return self

    def __lshift__(self, command: ConnectionCommand) -> Playbook:
        """Expects this command next."""
        if not self._came:
            raise self._mismatch(f"expected {command}, but nothing more came")
        came = self._came.pop(0)
        if came != command:
            raise self._mismatch(f"expected {command}, but {came} came")
        self._transcript.append(f"<< {came}")
        return self

    def __bool__(self) -> bool:
        self._nothing_more()
        return True

    def _nothing_more(self) -> None:
        if self._came:
            raise self._mismatch(f"nothing more was expected, but {self._came[0]} came")

    def _mismatch(self, what: str) -> AssertionError:
        return AssertionError("\n".join([*self._transcript, f"!! {what}"]))


def _merged(commands: list[ConnectionCommand]) -> list[ConnectionCommand]:
    merged: list[ConnectionCommand] = []
    for command in commands:
        if isinstance(command, Send):
            before = merged[-1] if merged else None
            if isinstance(before, Send) and before.side is command.side:
                merged[-1] = Send(command.side, bytes(before.data) + bytes(command.data))
            else:
                merged.append(Send(command.side, bytes(command.data)))
        else:
            merged.append(command)
    return merged
