"""Numbers that clientscope chose where KIP-1324 left them open, and Kafka's own numbers that belong with them.

Both sides of the wire read them here.  93 and 94, which the text would get as its next ones, are taken in Kafka 4.4.
"""

from __future__ import annotations

from clientscope.errors import ClientConfigTooLargeException, InvalidConfigException

API_VERSIONS = 18
"""Api key of ApiVersions (KIP-35, KIP-511)."""

SASL_HANDSHAKE = 17
SASL_AUTHENTICATE = 36
"""Api keys of SASL (KIP-43, KIP-152)."""

PUSH_CONFIG = 1324
"""Api key of PushConfig."""

DESCRIBE_CLUSTER = 60
"""Api key of DescribeCluster (KIP-700)."""

PRODUCE, FETCH, METADATA, FIND_COORDINATOR, SHARE_FETCH, SHARE_ACKNOWLEDGE = 0, 1, 3, 10, 78, 79
"""Api keys of the other answers that have addresses of brokers."""

GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY = 71, 72
"""Api keys of clients' telemetry (KIP-714)."""

BROKER_SOFTWARE_NAME_TAG, BROKER_SOFTWARE_VERSION_TAG = 885, 886
"""Tags of KIP-885's fields in DescribeCluster responses."""

CLIENT_INSTANCE_ID_TAG = 1324
"""Tag of ClientInstanceId in ApiVersions requests v3 and v4; a broker that doesn't know the tag ignores it."""

CONFIG_MAX_BYTES = 10_240
"""Default of ``client.config.max.bytes``: the longest PushConfig request body, its header not counted."""

NONE = 0
UNSUPPORTED_VERSION = 35
INVALID_CONFIG = 40
INVALID_REQUEST = 42
UNSUPPORTED_COMPRESSION_TYPE = 76
THROTTLING_QUOTA_EXCEEDED = 89
UNKNOWN_SUBSCRIPTION_ID = 117
TELEMETRY_TOO_LARGE = 118
CONFIG_TOO_LARGE = 1324
"""Error codes; CONFIG_TOO_LARGE is KIP-1324's, the others are Kafka's."""

ERROR_CODES: dict[type[Exception], int] = {InvalidConfigException: INVALID_CONFIG, ClientConfigTooLargeException: CONFIG_TOO_LARGE}
"""KIP-1324's exceptions, as Kafka's ``Errors`` has those of ApiException."""

ERROR_NAMES = {
    NONE: "none",
    UNSUPPORTED_VERSION: "unsupported_version",
    INVALID_CONFIG: "invalid_config",
    INVALID_REQUEST: "invalid_request",
    UNSUPPORTED_COMPRESSION_TYPE: "unsupported_compression_type",
    THROTTLING_QUOTA_EXCEEDED: "throttling_quota_exceeded",
    UNKNOWN_SUBSCRIPTION_ID: "unknown_subscription_id",
    TELEMETRY_TOO_LARGE: "telemetry_too_large",
    CONFIG_TOO_LARGE: "config_too_large",
}
"""Errors of the gateway's own answers, besides a push's UNKNOWN_SERVER_ERROR, as counters' labels."""
