"""Parser of PushConfig's request body, v0 (KIP-1324), in one pass over its bytes.

kafka-python's engine takes four times as long, in the event loop that carries all clients' bytes. A parity test holds this and
``wire/strict.py``, over kafka-python's class, together.
"""

from __future__ import annotations

from clientscope.errors import WireError
from clientscope.wire.cursor import Cursor

MOST_CONFIGS = 512
"""Settings in one push; no client library has more than some 200."""
_HIGHEST_TYPE = 8

Entry = tuple[str, str, int, bool]
"""Key, value, type (an ordinal of Kafka's ConfigDef.Type, 0 to 8) and whether it is the default."""


def read_configs(body: bytes) -> list[Entry]:
    """The settings of a request, in the order sent.

    Args:
        body: all that follows the request's header.

    Raises:
        WireError: ``truncated``, ``bad_varint``, ``bad_utf8``, ``null``, ``too_many_tags`` or ``trailing_bytes``: it is no such request;
            ``no_configs``, ``too_many_configs``, ``empty_key``, ``bad_type`` or ``duplicate_key``: it is one that no client sends.
    """
    cursor = Cursor(body)
    count = cursor.compact_count()
    if count < 0:
        raise WireError("null")
    if count == 0:
        raise WireError("no_configs")
    if count > MOST_CONFIGS:
        raise WireError("too_many_configs", str(count))
    entries = [_entry(cursor) for _ in range(count)]
    cursor.tags()
    if cursor.position != len(body):
        raise WireError("trailing_bytes")
    if len({key for key, *_ in entries}) != count:  # which of its values counts, each reader would say for itself
        raise WireError("duplicate_key")
    return entries


def _entry(cursor: Cursor) -> Entry:
    key, value = _text(cursor), _text(cursor)
    kind, is_default = cursor.take(2)
    cursor.tags()
    if not key:
        raise WireError("empty_key")
    if kind > _HIGHEST_TYPE:  # an int8 below zero is above as a byte
        raise WireError("bad_type")
    return key, value, kind, bool(is_default)


def _text(cursor: Cursor) -> str:
    """A compact string; most are shorter than 127 bytes, whose length is one byte."""
    data, at = cursor.data, cursor.position
    if at < len(data) and 0 < (length := data[at]) < 0x80 and at + length <= len(data):
        cursor.position = at + length
        try:
            return data[at + 1 : at + length].decode("utf-8")
        except UnicodeDecodeError:
            raise WireError("bad_utf8") from None
    return cursor.compact_string()
