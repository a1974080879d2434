"""What a run of ``clientscope readiness`` has read and judged, from whichever source."""

from __future__ import annotations

from dataclasses import dataclass

from clientscope.commands.xray.result import LogRead
from clientscope.readiness.rows import JudgedClient


@dataclass(frozen=True)
class ReadinessRun:
    """What was read and judged.

    Attributes:
        sentences: what is true of all clients.
        unseen: sentences on what isn't in the result: every bound that was reached.
        complete: whether no bound kept clients from being judged.
        errors: of logs that couldn't be read.
        nothing: why there is nothing to judge; empty if there is something.
        source: what showed the clients.
        times: what its times are.
        read: how much of it was read, and what that number is of, one and several.
    """

    clients: tuple[JudgedClient, ...]
    logs: tuple[LogRead, ...]
    sentences: tuple[str, ...]
    unseen: tuple[str, ...]
    complete: bool
    errors: tuple[str, ...]
    nothing: str
    source: str
    times: str
    read: tuple[int, str, str]
