"""Apache Kafka's own Java clients, and Kafka Streams: Kafka's names.

Defaults are the catalogue's (`clientscope.catalog.settings`); what a client makes of them is
ProducerConfig.postProcessAndConfigureIdempotence, ConsumerConfig.maybeOverrideEnableAutoCommit and StreamsConfig.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from clientscope.catalog.configs import TYPES, ClientType, Type
from clientscope.catalog.dialects.dialect import Default, Dialect, settle_idempotence
from clientscope.catalog.settings import Release, libraries, numbers

_EXCLUDED = ("sasl.", "security.", "ssl.")

_IDEMPOTENCE_NOT_APPLIED = ((3, 0, 0), (3, 1, 0))
"""ConfigDef says that idempotence is on, and the producer leaves it off (KAFKA-13598)."""

_WITHOUT_GROUP = (2, 2)
"""The first release whose consumers may have no group; before, it is the empty one (KIP-289)."""

_CONFLUENT = {5: (2, 0), 6: (2, 6), 7: (3, 0), 8: (4, 0)}
"""Confluent Platform's major version → Kafka's version in its .0; its minor versions follow Kafka's."""


def _numbers_of(version: str) -> Release:
    """The version of Apache Kafka: ``7.6.1-ccs`` is 3.6.1."""
    found = numbers(version)
    if not version.endswith(("-ccs", "-ce")) or len(found) < 2 or found[0] not in _CONFLUENT:
        return found
    major, minor = _CONFLUENT[found[0]]
    return (major, minor + found[1], *found[2:])


def _settle(client_type: ClientType, values: Mapping[str, str | None], given: Collection[str], software: Release) -> Mapping[str, str]:
    if client_type is ClientType.PRODUCER:
        if not software or software >= (3, 0, 0):
            off = software in _IDEMPOTENCE_NOT_APPLIED and "enable.idempotence" not in given and not values.get("transactional.id")
            return {"enable.idempotence": "false"} if off else settle_idempotence(client_type, values, given, software)
        return _settle_before_kip_679(values, given)
    if client_type is ClientType.CONSUMER and not values.get("group.id") and "enable.auto.commit" not in given:
        return {} if software and software < _WITHOUT_GROUP else {"enable.auto.commit": "false"}
    if client_type is ClientType.STREAMS and "commit.interval.ms" not in given:
        exactly_once = (values.get("processing.guarantee") or "").startswith("exactly_once")
        return {"commit.interval.ms": "100"} if exactly_once else {}
    return {}


def _settle_before_kip_679(values: Mapping[str, str | None], given: Collection[str]) -> Mapping[str, str]:
    """Idempotence is off, unless it is asked for or transactions need it; then acks and retries follow it."""
    if not values.get("transactional.id") and values.get("enable.idempotence") != "true":
        return {}
    following = {"acks": "all", "retries": str(2**31 - 1)}
    return {"enable.idempotence": "true"} | {key: value for key, value in following.items() if key not in given}


def _defaults() -> dict[ClientType, dict[str, Default]]:
    """What may be pushed: no class, and nothing that KIP-1324 excludes by its prefix."""
    library = libraries()["java"]
    return {
        client_type: {
            key: since
            for key, since in library.defaults(client_type.value).items()
            if TYPES.get(key, Type.CLASS) is not Type.CLASS and not key.startswith(_EXCLUDED)
        }
        for client_type in ClientType
    }


JAVA = Dialect(
    name="java",
    software=("apache-kafka-java",),
    defaults=_defaults(),
    spellings={
        "acks": {"-1": "all"},
        "share.acquire.mode": {mode: mode for mode in ("batch_optimized", "record_limit")},
    },
    settle=_settle,
    numbers_of=_numbers_of,
    pushes_defaults=True,
    oldest=(2, 0, 0),
    instead={
        "enable.ssl.certificate.verification": "ssl.endpoint.identification.algorithm",
        "sasl.kerberos.keytab": "sasl.jaas.config with a keyTab",
        "sasl.kerberos.principal": "sasl.jaas.config with a principal",
        "sasl.oauthbearer.config": "sasl.jaas.config",
        "sasl.password": "sasl.jaas.config with a password",
        "sasl.username": "sasl.jaas.config with a username",
        "ssl.ca.location": "ssl.truststore.location with ssl.truststore.type=PEM",
        "ssl.ca.pem": "ssl.truststore.certificates",
        "ssl.certificate.location": "ssl.keystore.location with ssl.keystore.type=PEM",
        "ssl.certificate.pem": "ssl.keystore.certificate.chain",
        "ssl.key.location": "ssl.keystore.location with ssl.keystore.type=PEM",
        "ssl.key.pem": "ssl.keystore.key",
        "sasl_plain_password": "sasl.jaas.config with a password",
        "sasl_plain_username": "sasl.jaas.config with a username",
        "ssl_cafile": "ssl.truststore.location with ssl.truststore.type=PEM",
    },
)
