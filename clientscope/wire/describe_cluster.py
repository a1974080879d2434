"""DescribeCluster (key 60) on raw bytes: adding the software of the broker that answers, and replacing addresses.

KIP-885's content as tagged fields 885 (BrokerSoftwareName) and 886 (BrokerSoftwareVersion) of the response, compact nullable strings:
its own v1 was never adopted, and Kafka's v1 and v2 are those of KIP-919 and KIP-1073. Everything else passes unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clientscope.errors import WireError
from clientscope.wire.addresses import Translate, begin, unchanged
from clientscope.wire.codes import BROKER_SOFTWARE_NAME_TAG, BROKER_SOFTWARE_VERSION_TAG
from clientscope.wire.cursor import Cursor, write_tags, write_uvarint

NEWEST = 2
"""The newest version whose layout we know; newer ones pass untouched."""
_CONTROLLERS = 2
"""EndpointType of controllers (KIP-919), whose addresses are no brokers'."""


@dataclass(frozen=True)
class BrokerSoftware:
    """What a broker runs; None where it isn't known."""

    name: str | None
    version: str | None


NO_SOFTWARE = BrokerSoftware(None, None)


def with_software(frame: bytes, api_version: int, translate: Translate, software: BrokerSoftware) -> bytes:
    """A response of v0 to v2 with the responding broker's software; addresses of brokers are replaced, those of controllers stay.

    Raises:
        WireError: it is no such response.
    """
    answer = begin(frame, True, translate)
    cursor = answer.cursor
    cursor.int32()  # ThrottleTimeMs
    cursor.int16()  # ErrorCode
    answer.text()  # ErrorMessage
    if api_version >= 1 and cursor.int8() == _CONTROLLERS:
        answer.translate = unchanged
    answer.text()  # ClusterId
    cursor.int32()  # ControllerId

    def rest() -> None:
        answer.text()  # Rack
        if api_version >= 2:
            cursor.int8()  # IsFenced
        answer.tags()

    answer.brokers(rest)
    cursor.int32()  # ClusterAuthorizedOperations
    tags_at = cursor.position
    tags = dict(cursor.tags())
    tags[BROKER_SOFTWARE_NAME_TAG] = _nullable(software.name)
    tags[BROKER_SOFTWARE_VERSION_TAG] = _nullable(software.version)
    answer.replace(tags_at, write_tags(sorted(tags.items())))
    return answer.frame()


def software_of(response: Any) -> BrokerSoftware:
    """What kafka-python's DescribeClusterResponse says of its broker, in fields that its version doesn't have, kept as ``_885``.

    None where that is nothing, no text, or too long.
    """
    tags = response.unknown_tags or {}
    return BrokerSoftware(_text(tags.get(f"_{BROKER_SOFTWARE_NAME_TAG}")), _text(tags.get(f"_{BROKER_SOFTWARE_VERSION_TAG}")))


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
