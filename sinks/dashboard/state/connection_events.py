"""Records of ``clientscope.connections``, with no name in them that may not be shown."""

from __future__ import annotations

from clientscope.policy.redaction import ClientNames
from clientscope.records.codec import decode
from clientscope.records.connection_record import ClientConnectionRecord

_names = ClientNames()


def event(value: bytes | None) -> ClientConnectionRecord:
    """A record.

    Raises:
        RecordError: it is none.
    """
    return _names.of_record(decode(ClientConnectionRecord, value))
