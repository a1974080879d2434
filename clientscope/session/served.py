"""What the broker serves, as its own ApiVersions answers tell; shared by all connections of a gateway."""

from __future__ import annotations

from clientscope.wire import api_versions
from clientscope.wire.frames import RESPONSE_HEAD


class Served:
    """The broker's ranges, learnt from the answers that pass, so that an upgraded broker's are learnt too."""

    def __init__(self) -> None:
        self._ranges: dict[int, tuple[int, int]] | None = None
        self._bodies: dict[int, bytes] = {}

    def learn(self, frame: bytes, api_version: int) -> None:
        """Takes the broker's answer without an error; one like the last of its version costs a comparison.

        Raises:
            WireError: it is no such answer.
        """
        body = frame[RESPONSE_HEAD.size :]
        if self._bodies.get(api_version) != body:
            self._ranges = api_versions.read_ranges(frame, api_version)
            self._bodies[api_version] = body  # few: a version that the broker lacks is answered with an error

    def lacks(self, api_key: int, api_version: int) -> str | None:
        """Why the broker will not serve a request, as a counter's label; None where it does, or nothing is known yet."""
        if self._ranges is None:
            return None
        found = self._ranges.get(api_key)
        if found is None:
            return "unknown_api_key"
        return None if found[0] <= api_version <= found[1] else "unsupported_version"
