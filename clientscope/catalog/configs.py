"""Kafka's client settings, as data: their types, and the ones that a client pushes by default.

Other libraries' names for them are in ``dialects``.

Sources: the ConfigDefs of Kafka 4.4.0's producer, consumer, share consumer and admin client, and of Kafka Streams 4.3.0; KIP-1324
"Sensitive Configuration" for the default lists, and revision 9 of its page for the consumer's ``request.timeout.ms`` and for the admin
client.
"""

from __future__ import annotations

from enum import Enum, IntEnum


class Type(IntEnum):
    """Kafka's ConfigDef.Type, by its ordinals: what a push's ConfigType carries."""

    BOOLEAN = 0
    STRING = 1
    INT = 2
    SHORT = 3
    LONG = 4
    DOUBLE = 5
    LIST = 6
    CLASS = 7
    PASSWORD = 8


class ClientType(Enum):
    """Which of Kafka's clients a configuration is for."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    SHARE_CONSUMER = "share-consumer"
    ADMIN = "admin"
    STREAMS = "streams"


DEFAULT_KEYS: dict[ClientType, tuple[str, ...]] = {
    ClientType.PRODUCER: (
        "acks",
        "batch.size",
        "buffer.memory",
        "client.id",
        "compression.type",
        "delivery.timeout.ms",
        "enable.idempotence",
        "linger.ms",
        "max.in.flight.requests.per.connection",
        "request.timeout.ms",
        "retries",
    ),
    ClientType.CONSUMER: (
        "auto.offset.reset",
        "client.id",
        "enable.auto.commit",
        "fetch.min.bytes",
        "fetch.max.wait.ms",
        "group.id",
        "isolation.level",
        "max.poll.interval.ms",
        "max.poll.records",
        "request.timeout.ms",
        "session.timeout.ms",
    ),
    ClientType.SHARE_CONSUMER: (
        "client.id",
        "fetch.max.wait.ms",
        "fetch.min.bytes",
        "group.id",
        "max.poll.interval.ms",
        "max.poll.records",
        "share.acknowledgement.mode",
        "share.acquire.mode",
    ),
    ClientType.ADMIN: ("client.id", "request.timeout.ms", "retries"),
    ClientType.STREAMS: (
        "application.id",
        "client.id",
        "commit.interval.ms",
        "group.protocol",
        "max.task.idle.ms",
        "num.standby.replicas",
        "num.stream.threads",
        "processing.guarantee",
        "replication.factor",
        "request.timeout.ms",
        "statestore.cache.max.bytes",
    ),
}
"""What each client pushes unless ``config.push.allowed.keys`` says otherwise.

KIP-1324 has no list for Kafka Streams. This one follows its others: the application's identity (``application.id`` is its consumers'
group.id), and otherwise numbers and fixed choices, those of StreamsConfig that decide about loss, duplicates, latency and availability.
No class, no path (``state.dir``), no address (``application.server``), and nothing under ``producer.``, ``consumer.``, ``main.consumer.``
or ``admin.``: those are settings of embedded clients, and StreamsConfig defines none of them, so they count as custom.
"""

# fmt: off
_KEYS: dict[Type, tuple[str, ...]] = {
    Type.BOOLEAN: (
        "allow.auto.create.topics", "check.crcs", "enable.auto.commit", "enable.config.push", "enable.idempotence",
        "enable.metrics.push", "exclude.internal.topics", "metadata.cluster.check.enable",
        "partitioner.adaptive.partitioning.enable", "partitioner.ignore.keys", "partitioner.rack.aware",
        "sasl.oauthbearer.allow.unverified.audience", "sasl.oauthbearer.allow.unverified.issuer",
        "sasl.oauthbearer.assertion.claim.jti.include", "sasl.oauthbearer.header.urlencode",
        "transaction.two.phase.commit.enable",
        # Kafka Streams
        "allow.os.group.write.access", "ensure.explicit.internal.resource.naming", "processing.exception.handler.global.enabled",
    ),
    Type.STRING: (
        "acks", "auto.offset.reset", "buffer.memory.allocation.strategy", "client.dns.lookup", "client.id", "client.rack",
        "compression.type", "group.id", "group.instance.id", "group.protocol", "group.remote.assignor", "isolation.level",
        "metadata.recovery.strategy", "metrics.recording.level", "sasl.kerberos.kinit.cmd", "sasl.kerberos.service.name", "sasl.mechanism",
        "sasl.oauthbearer.assertion.algorithm", "sasl.oauthbearer.assertion.claim.aud", "sasl.oauthbearer.assertion.claim.iss",
        "sasl.oauthbearer.assertion.claim.sub", "sasl.oauthbearer.assertion.file", "sasl.oauthbearer.assertion.private.key.file",
        "sasl.oauthbearer.assertion.template.file", "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.expected.issuer", "sasl.oauthbearer.jwks.endpoint.url", "sasl.oauthbearer.scope",
        "sasl.oauthbearer.scope.claim.name", "sasl.oauthbearer.sub.claim.name", "sasl.oauthbearer.token.endpoint.url",
        "security.protocol", "security.providers", "share.acknowledgement.mode", "share.acquire.mode",
        "ssl.endpoint.identification.algorithm", "ssl.keymanager.algorithm", "ssl.keystore.location", "ssl.keystore.type",
        "ssl.protocol", "ssl.provider", "ssl.secure.random.implementation", "ssl.trustmanager.algorithm",
        "ssl.truststore.location", "ssl.truststore.type", "transactional.id",
        # Kafka Streams
        "application.id", "application.server", "built.in.metrics.version", "default.dsl.store", "dsl.store.format",
        "errors.dead.letter.queue.topic.name", "processing.guarantee", "rack.aware.assignment.strategy", "state.dir",
        "task.assignor.class", "topology.optimization", "upgrade.from", "windowed.inner.class.serde",
    ),
    Type.INT: (
        "auto.commit.interval.ms", "batch.size", "compression.gzip.level", "compression.lz4.level", "compression.zstd.level",
        "default.api.timeout.ms", "delivery.timeout.ms", "fetch.max.bytes", "fetch.max.wait.ms", "fetch.min.bytes",
        "heartbeat.interval.ms", "max.in.flight.requests.per.connection", "max.partition.fetch.bytes",
        "max.poll.interval.ms", "max.poll.records", "max.request.size", "metrics.num.samples", "receive.buffer.bytes",
        "request.timeout.ms", "retries", "sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms",
        "sasl.oauthbearer.assertion.claim.exp.seconds", "sasl.oauthbearer.assertion.claim.nbf.seconds",
        "sasl.oauthbearer.clock.skew.seconds", "send.buffer.bytes", "session.timeout.ms", "transaction.timeout.ms",
        # Kafka Streams
        "buffered.records.per.partition", "max.warmup.replicas", "num.standby.replicas", "num.stream.threads",
        "rack.aware.assignment.non_overlap_cost", "rack.aware.assignment.traffic_cost", "replication.factor",
    ),
    Type.SHORT: ("sasl.login.refresh.buffer.seconds", "sasl.login.refresh.min.period.seconds"),
    Type.LONG: (
        "bootstrap.resolve.timeout.ms", "buffer.memory", "connections.max.idle.ms", "linger.ms", "max.block.ms",
        "metadata.max.age.ms", "metadata.max.idle.ms", "metadata.recovery.rebootstrap.trigger.ms",
        "metrics.sample.window.ms", "partitioner.availability.timeout.ms", "reconnect.backoff.max.ms", "reconnect.backoff.ms",
        "retry.backoff.max.ms", "retry.backoff.ms", "sasl.kerberos.min.time.before.relogin",
        "sasl.login.retry.backoff.max.ms", "sasl.login.retry.backoff.ms", "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        "socket.connection.setup.timeout.max.ms", "socket.connection.setup.timeout.ms",
        # Kafka Streams
        "acceptable.recovery.lag", "cache.max.bytes.buffering", "commit.interval.ms", "log.summary.interval.ms", "max.task.idle.ms",
        "poll.ms", "probing.rebalance.interval.ms", "repartition.purge.interval.ms", "state.cleanup.delay.ms",
        "state.cleanup.dir.max.age.ms", "statestore.cache.max.bytes", "task.timeout.ms", "window.size.ms",
        "windowstore.changelog.additional.retention.ms",
    ),
    Type.DOUBLE: (
        "sasl.kerberos.ticket.renew.jitter", "sasl.kerberos.ticket.renew.window.factor", "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
    ),
    Type.LIST: (
        "bootstrap.controllers", "bootstrap.servers", "config.providers", "config.push.allowed.keys", "interceptor.classes",
        "metric.reporters", "partition.assignment.strategy", "sasl.oauthbearer.expected.audience", "ssl.cipher.suites",
        "ssl.enabled.protocols",
        # Kafka Streams
        "rack.aware.assignment.tags",
    ),
    Type.CLASS: (
        "key.deserializer", "key.serializer", "partitioner.class", "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class", "sasl.login.class", "sasl.oauthbearer.jwt.retriever.class",
        "sasl.oauthbearer.jwt.validator.class", "ssl.engine.factory.class", "value.deserializer", "value.serializer",
        # Kafka Streams
        "default.client.supplier", "default.deserialization.exception.handler", "default.key.serde", "default.list.key.serde.inner",
        "default.list.key.serde.type", "default.list.value.serde.inner", "default.list.value.serde.type",
        "default.production.exception.handler", "default.timestamp.extractor", "default.value.serde",
        "deserialization.exception.handler", "dsl.store.suppliers.class", "processing.exception.handler", "processor.wrapper.class",
        "production.exception.handler", "rocksdb.config.setter",
    ),
    Type.PASSWORD: (
        "sasl.jaas.config", "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.client.credentials.client.secret", "ssl.key.password", "ssl.keystore.certificate.chain",
        "ssl.keystore.key", "ssl.keystore.password", "ssl.truststore.certificates", "ssl.truststore.password",
    ),
}
# fmt: on

TYPES: dict[str, Type] = {key: config_type for config_type, keys in _KEYS.items() for key in keys}
"""Every client config of Kafka 4.4.0, of Kafka Streams 4.3.0, and KIP-1324's two.

A key that isn't here is custom, which KIP-1324 calls sensitive.
"""
