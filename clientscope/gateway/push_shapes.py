"""Shapes of what each connection pushes, within a bound of memory for all connections to one broker.

They are kept by connection: no client can displace another's, or have more than one. A connection that pushes something else each time
loses its own, and another is made only now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from clientscope.policy.push_shape import PushShape

MOST_SHAPES_BYTES = 48 * 1024 * 1024
"""Of all shapes: those of 10,000 Java consumers, or of more where several have labels of the same lengths."""

_PAUSE = 16
"""Pushes of a connection that are judged in full after a shape that fitted none, since making one takes as long as judging one."""


@dataclass(slots=True)
class _Pushing:
    """What is remembered of a connection.

    Attributes:
        client: whatever its records depend on beside what it pushes.
        length: of its last push that was judged in full, in bytes.
        pause: so many pushes more without a new shape.
    """

    client: Hashable
    length: int = 0
    pause: int = 0
    shape: PushShape | None = None


class PushShapes:
    """The shape of each connection's pushes; for one thread.

    Args:
        count: called with ``telemetry_judged`` and the reason of each push that was judged in full.
        most_bytes: once shapes take as much, connections without one get none.
    """

    def __init__(self, count: Callable[[str, str], None], most_bytes: int = MOST_SHAPES_BYTES) -> None:
        self._count = count
        self._most_bytes = most_bytes
        self._pushing: dict[int, _Pushing] = {}
        self.size = 0
        """Bytes that all shapes take."""

    def record(self, connection_id: int, client: Hashable, unpacked: bytes, with_settings: bool) -> bytes | None:
        """The record of a push that has the shape of its connection's last; None if it must be judged in full.

        Args:
            client: whatever the record depends on beside the push. A shape of another client's doesn't count.
            with_settings: judge it in full if it may show a setting.
        """
        pushing = self._pushing.get(connection_id)
        if pushing is None or pushing.shape is None or (with_settings and pushing.shape.has_setting):
            return None
        record = pushing.shape.record(unpacked) if pushing.client == client else None
        if record is None:
            self._drop(pushing)
        else:
            pushing.pause = 0
        return record

    def judged(self, connection_id: int, client: Hashable, unpacked: bytes, record: bytes) -> None:
        """Learns from a push that was judged in full; its shape if the connection's last push was as long.

        Args:
            record: what was made of it.
        """
        pushing = self._pushing.get(connection_id)
        if pushing is None or pushing.client != client:
            self.forget(connection_id)
            pushing = self._pushing[connection_id] = _Pushing(client)
        has_room = self.size < self._most_bytes
        self._count("telemetry_judged", "new" if has_room or pushing.shape else "no_room")
        as_long, pushing.length = pushing.length == len(unpacked), len(unpacked)
        if pushing.pause:
            pushing.pause -= 1
        elif as_long and has_room and pushing.shape is None:
            pushing.pause = _PAUSE
            pushing.shape = PushShape.of(unpacked, record)
            self.size += pushing.shape.size if pushing.shape else 0

    def forget(self, connection_id: int) -> None:
        """A connection has ended."""
        if (pushing := self._pushing.pop(connection_id, None)) is not None:
            self._drop(pushing)

    def _drop(self, pushing: _Pushing) -> None:
        if pushing.shape is not None:
            self.size -= pushing.shape.size
            pushing.shape = None
