"""Settings under a prefix, for clients that Kafka Connect, Kafka Streams, Spring Boot, Quarkus or Micronaut create.

Settings under a prefix are only a part of a client's settings: the framework has defaults of its own, and adds settings from elsewhere.
So it is judged by what is there, and never by a default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from clientscope.catalog.configs import TYPES, ClientType

_PRODUCER, _CONSUMER, _ADMIN, _STREAMS = ClientType.PRODUCER, ClientType.CONSUMER, ClientType.ADMIN, ClientType.STREAMS

_PREFIXES: tuple[tuple[str, ClientType], ...] = (
    # Connect: of a connector (KIP-458); of its workers, as in Kafka Streams.
    (r"producer\.override\.", _PRODUCER),
    (r"consumer\.override\.", _CONSUMER),
    (r"admin\.override\.", _ADMIN),
    (r"(?:main|restore|global)\.consumer\.", _CONSUMER),
    (r"producer\.", _PRODUCER),
    (r"consumer\.", _CONSUMER),
    (r"admin\.", _ADMIN),
    (r"spring\.kafka\.producer\.properties\.", _PRODUCER),
    (r"spring\.kafka\.consumer\.properties\.", _CONSUMER),
    (r"spring\.kafka\.admin\.properties\.", _ADMIN),
    (r"spring\.kafka\.streams\.properties\.", _STREAMS),
    # Quarkus and SmallRye: a channel's, perhaps after a profile.
    (r"(?:%[\w-]+\.)?mp\.messaging\.outgoing\.[\w-]+\.", _PRODUCER),
    (r"(?:%[\w-]+\.)?mp\.messaging\.incoming\.[\w-]+\.", _CONSUMER),
    (r"(?:%[\w-]+\.)?kafka-streams\.", _STREAMS),
    # Micronaut: a client's, by its name.
    (r"kafka\.producers\.[\w-]+\.", _PRODUCER),
    (r"kafka\.consumers\.[\w-]+\.", _CONSUMER),
    (r"kafka\.streams\.[\w-]+\.", _STREAMS),
    # Strimzi's KafkaConnect and KafkaConnector, and a connector as Connect's REST API takes it.
    (r"(?:spec\.)?config\.producer\.(?:override\.)?", _PRODUCER),
    (r"(?:spec\.)?config\.consumer\.(?:override\.)?", _CONSUMER),
    (r"(?:spec\.)?config\.admin\.(?:override\.)?", _ADMIN),
)
_VARIABLE = re.compile(r"((?:[\w-]+\.)*CONNECT_(PRODUCER|CONSUMER|ADMIN)_)([A-Z][A-Z0-9_]*)")
"""A variable of a container of Connect, also among those of Compose or of a Helm chart; ``_`` stands for a dot."""
_ANY = tuple((re.compile(rf"({prefix})(.+)"), client_type) for prefix, client_type in _PREFIXES)
_SPRINGS_COMMON = "spring.kafka.properties."
_SPRINGS_OWN = re.compile(r"spring\.kafka\.(?:(?!properties\.)[\w-]+\.)*(?!properties\.)[\w-]+")

NOT_JUDGED = "is under a name of Spring Boot's own, and isn't judged: only spring.kafka.producer.properties.… and its like are"


@dataclass(frozen=True)
class PrefixGroup:
    """The settings under one prefix.

    Attributes:
        names: Kafka's name → the name in the file.
    """

    client_type: ClientType
    names: Mapping[str, str]


class Prefixed(NamedTuple):
    """A name with a prefix; ``key`` is Kafka's name, or what is in its place."""

    prefix: str
    client_type: ClientType
    key: str


def of(name: str) -> Prefixed | None:
    """What a prefix says of a name; None where it has none that selects a client."""
    if variable := _VARIABLE.fullmatch(name):
        return Prefixed(variable[1], ClientType(variable[2].lower()), variable[3].lower().replace("_", "."))
    for pattern, client_type in _ANY:
        if match := pattern.fullmatch(name):
            return Prefixed(match[1], client_type, match[2])
    return None


def groups(names: Mapping[str, object]) -> list[PrefixGroup]:
    """One for each prefix of a Kafka client's settings, in the file's order; Spring's common ones are in each of Spring's."""
    found: dict[tuple[str, ClientType], dict[str, str]] = {}
    for name in names:
        if within := of(name):
            found.setdefault((within.prefix, within.client_type), {})[within.key] = name
    common = {name.removeprefix(_SPRINGS_COMMON): name for name in names if name.startswith(_SPRINGS_COMMON)}
    of_spring = [key for key in found if key[0].startswith("spring.")]
    for key in of_spring:
        found[key] = {**common, **found[key]}
    if common and not of_spring:
        found[_SPRINGS_COMMON, _ADMIN] = common
    return [PrefixGroup(client_type, own) for (_, client_type), own in found.items() if own.keys() & TYPES.keys()]


def springs_own(names: Mapping[str, object]) -> list[str]:
    """Names in Spring Boot's own spelling of a setting, such as ``spring.kafka.producer.batch-size``."""
    return [name for name in names if _SPRINGS_OWN.fullmatch(name) and ".properties." not in name]
