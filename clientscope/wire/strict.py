"""Strict decoding of untrusted bytes with kafka-python's schema engine.

kafka-python's decoder was made for a broker's answers and trusts them: a short read gives a short value, and trailing bytes
are left alone.  Here a short read raises, the end must be the end, and null is refused where the schema has no null.
"""

from __future__ import annotations

import io
import struct
from typing import Any

from clientscope.errors import WireError


class _ExactReader(io.BytesIO):
    """Raises EOFError where BytesIO would return less than was asked for."""

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        if size is not None and len(data) < size:
            raise EOFError
        return data


def decode_body(message_class: Any, body: bytes, version: int) -> Any:
    """One message's body, all of it, as an instance of the kafka-python message or data class ``message_class``.

    Unknown tagged fields are kept in ``unknown_tags``, as KIP-482 asks of a reader.

    Raises:
        WireError: ``truncated``, ``bad_utf8``, ``bad_varint``, ``null``, ``trailing_bytes`` or ``malformed``.
    """
    flexible = message_class.flexible_version_q(version)
    reader = _ExactReader(body)
    try:
        message = message_class._struct.decode(reader, version=version, compact=flexible, tagged=flexible)
    except EOFError:
        raise WireError("truncated") from None
    except UnicodeDecodeError:
        raise WireError("bad_utf8") from None
    except ValueError as error:
        raise WireError("bad_varint" if "Invalid value" in str(error) else "malformed", str(error)) from None
    except (struct.error, TypeError, OverflowError, MemoryError) as error:
        raise WireError("malformed", str(error)) from None
    if (rest := len(body) - reader.tell()) > 0:
        raise WireError("trailing_bytes", str(rest))
    _refuse_nulls(message_class._struct, message, version)
    return message


def _refuse_nulls(struct_field: Any, message: Any, version: int) -> None:
    given = [field for field in struct_field.tagged_fields(version)._fields if field.name in (message.tags or ())]
    for field in (*struct_field.untagged_fields(version), *given):
        value = getattr(message, field.name)
        if field.is_struct_array() and value is not None:
            for item in value:
                _refuse_nulls(field.array_of, item, version)
        elif value is None and field._type_str != "uuid" and not field.nullable_for_version_q(version):
            raise WireError("null", field.name)
