"""Bytes that have passed through connections, from one heartbeat to the next."""

from __future__ import annotations

from collections.abc import Mapping

from clientscope.records.connection_record import MOST_CONNECTIONS, Passed


class Traffic:
    """The bytes that workers have counted for the next heartbeat; in the gateway's event loop."""

    def __init__(self) -> None:
        self._measured_ms = 0
        self._passed: dict[int, Passed] = {}

    def measured(self, elapsed_ms: int, passed: Mapping[int, Passed]) -> int:
        """Takes in a worker's; returns how many more connections the heartbeat will leave out."""
        before = self._left_out
        self._measured_ms = max(self._measured_ms, elapsed_ms)
        self._passed.update(passed)
        return self._left_out - before

    def take(self) -> tuple[int, dict[int, Passed]] | None:
        """For how many ms bytes were counted, and those of each connection; None where no worker has answered since the last time."""
        if not self._measured_ms:
            return None
        taken = self._measured_ms, self._passed
        self._measured_ms, self._passed = 0, {}
        return taken

    @property
    def _left_out(self) -> int:
        return max(0, len(self._passed) - MOST_CONNECTIONS)
