"""Bodies of requests that clients send, as kafka-python's message classes, for `clientscope.wire.strict.decode_body`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kafka.protocol.consumer import FetchRequest, HeartbeatRequest, JoinGroupRequest, OffsetCommitRequest, SyncGroupRequest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.producer import InitProducerIdRequest

BODIES: Mapping[int, Any] = MappingProxyType(
    {
        1: FetchRequest,
        3: MetadataRequest,
        8: OffsetCommitRequest,
        11: JoinGroupRequest,
        12: HeartbeatRequest,
        14: SyncGroupRequest,
        18: ApiVersionsRequest,
        22: InitProducerIdRequest,
    }
)
"""Api key → the request, of those that show settings. Produce is left out, since most of it is records."""
