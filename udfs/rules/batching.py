"""Rules about a producer's batches and buffers."""

from __future__ import annotations

import math

from udfs.rules.engine.push import Push
from udfs.rules.engine.rule import HIGH, MEDIUM, PRODUCERS, Judgement, Needs, judged, rule
from udfs.rules.engine.vocabulary import is_library


@rule(
    "AN109",
    severity="low",
    risks=("cost",),
    messages=(
        "linger.ms was not pushed.",
        "This producer waits for more records before it sends.",
        "This producer sends a request for almost every record: set linger.ms=5 or more.",
    ),
    client_types=PRODUCERS,
    keys=("linger.ms",),
)
def linger_zero(push: Push) -> Judgement:
    """AN109: a producer sends each record by itself.

    What
        ``linger.ms`` (librdkafka also: ``queue.buffering.max.ms``) is 0: set, or by the default of Java before 4.0, kafka-python,
        aiokafka and Sarama.

    Why
        Unless records come faster than the broker answers, each is a request of its own: more CPU on both sides, and hardly any
        compression. Kafka 4.0 changed its default to 5 for that.

    Example
        ``linger.ms=0``

    Use instead
        ``linger.ms=5``, the default since Kafka 4.0; 10 to 100 for throughput.

    Source
        Apache Kafka, linger.ms: https://kafka.apache.org/documentation/#producerconfigs_linger.ms
        KIP-1030: https://cwiki.apache.org/confluence/display/KAFKA/KIP-1030%3A+Change+constraints+and+default+values+for+various+configurations
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    """
    # By the effective number, so by the release's default too.
    linger = push.number("linger.ms")
    return judged(linger <= 0, not math.isnan(linger))


@rule(
    "AN110",
    severity="high",
    risks=("cost",),
    messages=(
        "batch.size was not pushed.",
        "Batches may become large enough.",
        "This producer's batches are too small to be cheap: set batch.size={minimum_bytes} or more.",
    ),
    client_types=PRODUCERS,
    keys=("batch.size",),
    limits={"minimum_bytes": 16384, "critical_bytes": 4096},
)
def batch_size_small(push: Push) -> Judgement:
    """AN110: a producer's batches are small.

    What
        ``batch.size`` is below Kafka's default of 16384 bytes; below 4096 it is high.

    Why
        Each batch has its own overhead, on the wire, on disk and for compression; many small ones cost brokers more than their bytes. 0
        turns batching off.

    Example
        ``batch.size=1024``

    Use instead
        ``batch.size=65536`` or more, with ``linger.ms`` above 0.

    Source
        Apache Kafka, batch.size: https://kafka.apache.org/documentation/#producerconfigs_batch.size
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
        Strimzi, Kafka producer tuning: https://strimzi.io/blog/2020/10/15/producer-tuning/
    """
    size = push.number("batch.size")
    severity = HIGH if size < batch_size_small.limit(push, "critical_bytes") else MEDIUM
    return judged(size < batch_size_small.limit(push, "minimum_bytes"), not math.isnan(size), severity)


@rule(
    "AN111",
    severity="info",
    risks=("cost",),
    messages=(
        "batch.size and linger.ms are needed, and were not both pushed.",
        "Batches have time to fill, or aren't meant to be large.",
        "Batches of this size never fill with linger.ms=0: set linger.ms=5 or more.",
    ),
    client_types=PRODUCERS,
    keys=(
        "batch.size",
        "linger.ms",
    ),
    limits={"large_bytes": 16384},
)
def batch_never_fills(push: Push) -> Judgement:
    """AN111: large batches are asked for, and never waited for.

    What
        ``batch.size`` was set above 16384 bytes, and ``linger.ms`` is 0.

    Why
        A batch is sent as soon as there is a record in it, so its size hardly matters; memory is taken for each partition all the same.

    Example
        ``batch.size=131072 with linger.ms=0``

    Use instead
        ``linger.ms=5`` or more beside it.

    Source
        Apache Kafka, batch.size: https://kafka.apache.org/documentation/#producerconfigs_batch.size
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    """
    # A library's own default isn't a wish for large batches.
    size, linger = push.number("batch.size"), push.number("linger.ms")
    wished = push.is_set("batch.size") and size > batch_never_fills.limit(push, "large_bytes")
    return judged(wished and linger <= 0, not math.isnan(size) and not math.isnan(linger))


@rule(
    "AN112",
    severity="info",
    risks=("cost",),
    messages=(
        "compression.type was not pushed.",
        "This producer compresses.",
        "This producer doesn't compress: set compression.type=lz4 or zstd, unless its records are compressed already.",
    ),
    instead=(
        *(
            (old, "This producer doesn't compress: set compression.type=lz4, unless its records are compressed already.")
            for old in (is_library("java", before=(2, 1)), is_library("kafka-python", before=(2, 0, 2)))
        ),
        (is_library("kafkajs"), "This producer doesn't compress: set compression to GZIP, unless its records are compressed already."),
    ),
    client_types=PRODUCERS,
    keys=("compression.type",),
)
def compression_none(push: Push) -> Judgement:
    """AN112: records are not compressed.

    What
        ``compression.type`` (librdkafka also: ``compression.codec``) is none.

    Why
        Text such as JSON shrinks to a fifth; what isn't compressed costs network, disk and replication several times.

    Example
        ``compression.type=none``

    Use instead
        ``compression.type=lz4`` or ``zstd``; none is right for what is compressed already.

    Source
        Apache Kafka, compression.type: https://kafka.apache.org/documentation/#producerconfigs_compression.type
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    """
    # By the effective codec.
    codec = push.text("compression.type")
    return judged(codec == "none", codec is not None)


@rule(
    "AN113",
    severity="high",
    risks=("stall",),
    messages=(
        "buffer.memory and batch.size are needed, and were not both pushed.",
        "There is memory for enough batches.",
        "This producer's memory holds too few of its batches, and send() will block: raise buffer.memory, or lower batch.size.",
    ),
    instead=(
        (
            is_library("librdkafka"),
            "This producer's memory holds too few of its batches, and it refuses records: raise queue.buffering.max.kbytes, or "
            "lower batch.size.",
        ),
    ),
    client_types=PRODUCERS,
    keys=(
        "buffer.memory",
        "batch.size",
    ),
    limits={"minimum_bytes": 67108864, "large_batch_bytes": 65536},
)
def buffer_memory_small(push: Push) -> Judgement:
    """AN113: a producer's memory holds few batches.

    What
        ``buffer.memory`` is below ``batch.size`` (high), or below 64 MiB where batches are of 64 KiB or more.

    Why
        Each partition that is written to takes a batch from this memory; when it is full, ``send()`` blocks for ``max.block.ms`` and
        then fails. Less than one batch holds nothing.

    Example
        ``buffer.memory=33554432 with batch.size=131072``

    Use instead
        ``buffer.memory=67108864`` (librdkafka: ``queue.buffering.max.kbytes=65536``), or some batches for each partition that is
        written to.

    Source
        Apache Kafka, buffer.memory: https://kafka.apache.org/documentation/#producerconfigs_buffer.memory
        Strimzi, Kafka producer tuning: https://strimzi.io/blog/2020/10/15/producer-tuning/
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    """
    memory, size = push.number("buffer.memory"), push.number("batch.size")
    tight = size >= buffer_memory_small.limit(push, "large_batch_bytes") and memory < buffer_memory_small.limit(push, "minimum_bytes")
    return judged(memory < size or tight, not math.isnan(memory) and not math.isnan(size), HIGH if memory < size else MEDIUM)


@rule(
    "AN115",
    severity="medium",
    risks=("loss",),
    messages=(
        "max.request.size was not pushed.",
        "Brokers take requests of this size.",
        "Brokers refuse batches above their message.max.bytes: lower max.request.size to {maximum_bytes}, or raise that limit.",
    ),
    instead=(
        (
            is_library("librdkafka"),
            "Brokers refuse batches above their own limit: lower this producer's message.max.bytes to {maximum_bytes}, or raise theirs.",
        ),
    ),
    client_types=PRODUCERS,
    needs=Needs.ALLOWED_KEYS,
    keys=("max.request.size",),
    limits={"maximum_bytes": 1048588},
)
def request_size_above_broker(push: Push) -> Judgement:
    """AN115: a producer sends more than brokers take.

    What
        ``max.request.size`` (librdkafka: ``message.max.bytes``) is above the 1048588 bytes that brokers accept unless they are configured
        otherwise.

    Why
        A batch beyond the broker's ``message.max.bytes`` or the topic's ``max.message.bytes`` is refused; Event Hubs closes the
        connection.

    Example
        ``max.request.size=5242880``

    Use instead
        The default; or the same limit at the broker or the topic, and a profile that knows it.

    Source
        Apache Kafka, max.request.size: https://kafka.apache.org/documentation/#producerconfigs_max.request.size
        Apache Kafka, message.max.bytes: https://kafka.apache.org/documentation/#brokerconfigs_message.max.bytes
        Azure Event Hubs, recommended configurations: https://learn.microsoft.com/azure/event-hubs/apache-kafka-configurations
    """
    # Against the limit that the profile knows of; what the broker has isn't seen here.
    size = push.number("max.request.size")
    return judged(size > request_size_above_broker.limit(push, "maximum_bytes"), not math.isnan(size))
