"""Primitive types of Kafka's protocol: readers over a buffer, and the few writers that are needed.

Source: Kafka's protocol guide ("Protocol Primitive Types") and KIP-482 for what is compact or tagged.
"""

from __future__ import annotations

import struct
from uuid import UUID

from clientscope.errors import WireError

MOST_TAGS = 64
"""A section of more tagged fields is not read: Kafka's own messages have five at most, and 20,000 take 26 ms."""

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")


class Cursor:
    """Reads fields off a buffer and never beyond it.

    Raises:
        WireError: ``truncated``, ``bad_varint``, ``bad_utf8``, ``null`` or ``too_many_tags``, by any of its methods.
    """

    __slots__ = ("data", "position")

    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data = data
        self.position = position

    def take(self, size: int) -> bytes:
        """The next ``size`` bytes."""
        if size < 0 or size > len(self.data) - self.position:
            raise WireError("truncated")
        self.position += size
        return self.data[self.position - size : self.position]

    def int8(self) -> int:
        """A signed byte."""
        return int.from_bytes(self.take(1), signed=True)

    def int16(self) -> int:
        """A signed integer of 16 bits."""
        return int(_INT16.unpack(self.take(_INT16.size))[0])

    def int32(self) -> int:
        """A signed integer of 32 bits."""
        return int(_INT32.unpack(self.take(_INT32.size))[0])

    def int64(self) -> int:
        """A signed integer of 64 bits."""
        return int(_INT64.unpack(self.take(_INT64.size))[0])

    def uvarint(self) -> int:
        """An unsigned varint of at most 32 bits (KIP-482)."""
        if self.position < len(self.data) and (byte := self.data[self.position]) < 0x80:  # nearly always
            self.position += 1
            return byte
        value = 0
        for shift in range(0, 35, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value > 0xFFFFFFFF:
                    break
                return value
        raise WireError("bad_varint")

    def uuid(self) -> UUID | None:
        """A UUID; None for Kafka's ZERO_UUID, which means no id."""
        value = UUID(bytes=self.take(16))
        return value if value.int else None

    def text(self, size: int) -> str:
        """``size`` bytes of UTF-8."""
        try:
            return self.take(size).decode("utf-8")
        except UnicodeDecodeError:
            raise WireError("bad_utf8") from None

    def compact_string(self) -> str:
        """A compact string that may not be null."""
        length = self.uvarint()
        if length == 0:
            raise WireError("null")
        return self.text(length - 1)

    def compact_nullable_string(self) -> str | None:
        """A compact string, or null."""
        length = self.uvarint()
        return None if length == 0 else self.text(length - 1)

    def nullable_string(self) -> str | None:
        """An int16 length, -1 for null, and UTF-8."""
        length = self.int16()
        return None if length < 0 else self.text(length)

    def byte_array(self) -> bytes:
        """An int32 length and as many bytes, which may not be null."""
        return self.take(self.int32())

    def compact_byte_array(self) -> bytes:
        """Bytes of which a varint says one more than their length, and which may not be null."""
        return self.take(self.uvarint() - 1)

    def compact_count(self) -> int:
        """How many entries a compact array has; -1 for null."""
        return self.uvarint() - 1

    def tags(self) -> list[tuple[int, bytes]]:
        """A tagged-field section: (tag, value) in the order sent; of at most `MOST_TAGS` fields."""
        if (count := self.uvarint()) > MOST_TAGS:
            raise WireError("too_many_tags", str(count))
        return [(self.uvarint(), self.take(self.uvarint())) for _ in range(count)]


class Body:
    """Fields of a message; where it is flexible (KIP-482), strings and arrays are compact and structures have tagged fields."""

    __slots__ = ("cursor", "flexible")

    def __init__(self, cursor: Cursor, flexible: bool) -> None:
        self.cursor = cursor
        self.flexible = flexible

    def text(self) -> str | None:
        """A string, or null."""
        return self.cursor.compact_nullable_string() if self.flexible else self.cursor.nullable_string()

    def count(self) -> int:
        """The number of an array's entries; 0 for null."""
        return max(0, self.cursor.compact_count() if self.flexible else self.cursor.int32())

    def skip_text(self) -> None:
        """Goes past a string, or null."""
        self.cursor.take(max(0, self.cursor.uvarint() - 1 if self.flexible else self.cursor.int16()))

    def skip_bytes(self) -> None:
        """Goes past bytes, or null."""
        self.cursor.take(max(0, self.cursor.uvarint() - 1 if self.flexible else self.cursor.int32()))

    def tags(self) -> None:
        """The tagged fields of a structure, where it has any."""
        if self.flexible:
            self.cursor.tags()


def write_uvarint(value: int) -> bytes:
    """An unsigned varint (KIP-482)."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_tags(tags: list[tuple[int, bytes]]) -> bytes:
    """A tagged-field section."""
    return write_uvarint(len(tags)) + b"".join(write_uvarint(tag) + write_uvarint(len(value)) + value for tag, value in tags)
