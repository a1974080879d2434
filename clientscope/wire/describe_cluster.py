"""DescribeCluster (key 60) on raw bytes: adding the software of the broker that answers.

KIP-885's content as tagged fields 885 (BrokerSoftwareName) and 886 (BrokerSoftwareVersion) of the response, compact nullable strings:
its own v1 was never adopted, and Kafka's v1 and v2 are those of KIP-919 and KIP-1073. Everything else passes unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clientscope.errors import WireError
from clientscope.wire.codes import BROKER_SOFTWARE_NAME_TAG, BROKER_SOFTWARE_VERSION_TAG
from clientscope.wire.cursor import Cursor, write_tags, write_uvarint
from clientscope.wire.frames import LENGTH, RESPONSE_HEAD, framed

NEWEST = 2
"""The newest version whose layout we know; newer ones pass untouched."""


@dataclass(frozen=True)
class BrokerSoftware:
    """What a broker runs; None where it isn't known."""

    name: str | None
    version: str | None


def with_software(frame: bytes, api_version: int, software: BrokerSoftware) -> bytes:
    """A response of ``api_version`` with the responding broker's software.

    Raises:
        WireError: it is no such response; send it on as it is.
    """
    cursor = Cursor(frame, RESPONSE_HEAD.size)
    cursor.tags()
    cursor.int32()  # ThrottleTimeMs
    cursor.int16()  # ErrorCode
    cursor.compact_nullable_string()
    if api_version >= 1:
        cursor.int8()  # EndpointType
    cursor.compact_string()
    cursor.int32()  # ControllerId
    for _ in range(cursor.compact_count()):
        cursor.int32()
        cursor.compact_string()
        cursor.int32()
        cursor.compact_nullable_string()
        if api_version >= 2:
            cursor.int8()  # IsFenced
        cursor.tags()
    cursor.int32()  # ClusterAuthorizedOperations
    end = cursor.position
    tags = dict(cursor.tags())
    if cursor.position != len(frame):
        raise WireError("trailing_bytes")
    tags[BROKER_SOFTWARE_NAME_TAG] = _nullable(software.name)
    tags[BROKER_SOFTWARE_VERSION_TAG] = _nullable(software.version)
    body = frame[LENGTH.size : end] + write_tags(sorted(tags.items()))
    return framed(body)


def software_in(tags: Mapping[int, bytes]) -> BrokerSoftware:
    """What a response says of its broker in fields that its version doesn't have; None where that is nothing, no text, or too long."""
    return BrokerSoftware(_text(tags.get(BROKER_SOFTWARE_NAME_TAG)), _text(tags.get(BROKER_SOFTWARE_VERSION_TAG)))


def software_of(response: Any) -> BrokerSoftware:
    """`software_in` of kafka-python's DescribeClusterResponse, which keeps unknown tagged fields as ``_885``."""
    tags = response.unknown_tags or {}
    return software_in({int(tag.removeprefix("_")): value for tag, value in tags.items()})


_LONGEST = 200
"""Characters of a name or a version, as a gateway's own settings have them."""


def _text(tag: bytes | None) -> str | None:
    if tag is None:
        return None
    cursor = Cursor(tag)
    try:
        text = cursor.compact_nullable_string()
    except WireError:
        return None
    return text if cursor.position == len(tag) and (text is None or len(text) <= _LONGEST) else None


def _nullable(text: str | None) -> bytes:
    encoded = (text or "").encode()
    return b"\0" if text is None else write_uvarint(len(encoded) + 1) + encoded
