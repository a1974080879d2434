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

from __future__ import annotations

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, PRODUCERS, Case, Judgement, Rule, judged
from udfs.rules.engine.software import is_library


def evaluate(batch: Batch) -> Judgement:
    """By the effective codec."""
    codec = batch.text("compression.type")
    return judged(codec.equals("none"), codec.known)


RULE = Rule(
    code="AN112",
    name="compression_none",
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
    evaluate=evaluate,
    client_types=PRODUCERS,
    keys=("compression.type",),
    cases=(
        Case(FIRED, {"compression.type": "none"}),
        Case(FIRED, {"compression.codec": "NONE"}, software="librdkafka", version="2.8.0"),
        Case(FIRED, {"acks": "all"}, complete=True),
        Case(PASSED, {"acks": "all"}, software="kgo", version="v1.21.0", complete=True),
        Case(PASSED, {"compression.type": "zstd"}),
        Case(NOT_EVALUABLE, {"acks": "all"}),
    ),
)
