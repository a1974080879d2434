"""Levels of a broker's loggers, read and set while it runs (KIP-412, Kafka 2.4 and later)."""

from __future__ import annotations

from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import (
    ClusterAuthorizationFailedError,
    IncompatibleBrokerVersion,
    InvalidConfigurationError,
    InvalidRequestError,
    UnsupportedVersionError,
)

from clientscope.errors import EnvironmentProblem
from clientscope.kafka.admin import AdminClient

REQUEST_LOGGER = "kafka.request.logger"

_REFUSED = (
    ClusterAuthorizationFailedError,
    IncompatibleBrokerVersion,
    InvalidConfigurationError,
    InvalidRequestError,
    UnsupportedVersionError,
)
_RIGHTS = "this principal needs DescribeConfigs and AlterConfigs on the cluster"
_HINT = "without it: have your operators log requests for some seconds, and give the log: clientscope xray PATH (docs/xray.md)"


def logger_level(admin: AdminClient, broker: int, logger: str = REQUEST_LOGGER) -> str:
    """The level in effect, such as ``WARN``.

    Raises:
        EnvironmentProblem: the broker has no such logger, or doesn't let us ask; says why and what else can be done.
        KafkaError: it doesn't answer.
    """
    try:
        described = admin.describe_configs([ConfigResource(ConfigResourceType.BROKER_LOGGER, str(broker))], config_filter="all")
    except (*_REFUSED, ValueError) as error:
        raise _refused(broker, error) from None
    levels = described.get("broker_logger", {}).get(str(broker), {})
    if logger not in levels:  # kafka-python 3.0.12 gives an empty answer for a refusal, too
        raise EnvironmentProblem(f"broker {broker} shows no level of {logger}: {_RIGHTS}, or its logging can't be set this way", _HINT)
    return str(levels[logger]["value"])


def set_logger_level(admin: AdminClient, broker: int, level: str, logger: str = REQUEST_LOGGER) -> None:
    """Sets a level until the broker's next start.

    Raises:
        EnvironmentProblem: the broker refuses; says why and what else can be done.
        KafkaError: it doesn't answer.
    """
    resource = ConfigResource(ConfigResourceType.BROKER_LOGGER, str(broker), {logger: ("SET", level)})
    try:
        altered = admin.alter_configs([resource], raise_on_unknown=False)
    except (*_REFUSED, ValueError) as error:
        raise _refused(broker, error) from None
    if (answer := altered["broker_logger"][str(broker)]) != "OK":  # kafka-python gives an error's text as the result
        raise _refused(broker, ValueError(answer))


def _refused(broker: int, error: Exception) -> EnvironmentProblem:
    authorization = "ClusterAuthorizationFailed" in f"{type(error).__name__} {error}"
    reason = _RIGHTS if authorization else str(error)[:200]
    return EnvironmentProblem(f"broker {broker} doesn't allow its log levels to be read and set: {reason or type(error).__name__}", _HINT)
