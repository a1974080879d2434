"""Words of the topics' records that say of which kind something is.

Without pydantic, whose import takes longer than all else that a command needs which reads no record.
"""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """``kind`` of a record of ``clientscope.connections``."""

    OPENED = "opened"
    IDENTIFIED = "identified"
    CLOSED = "closed"
    PRESENT = "present"
    HEARTBEAT = "heartbeat"
    TRAFFIC = "traffic"


OF_GATEWAYS = frozenset({Kind.HEARTBEAT, Kind.TRAFFIC})
"""Records that are about no single connection."""


class PrincipalSource(StrEnum):
    """``principal_source`` of both records: what showed the principal."""

    NONE = "none"
    PLAIN = "plain"
    SCRAM = "scram"
    TOKEN = "token"  # noqa: S105 - no password
    CERTIFICATE = "certificate"


class Origin(StrEnum):
    """``origin`` of a record of ``clientscope.configs``, and of what is made of it: who said that a client has these settings."""

    PUSHED = "pushed"
    OBSERVED = "observed"
    REQUEST_LOG = "request_log"


def rank_of(origin: Origin) -> int:
    """What counts first of one client's records: 0 what it pushes, 1 what others saw of its requests."""
    return int(origin != Origin.PUSHED)
