"""AN113: a producer's memory holds few batches.

What
    ``buffer.memory`` is below ``batch.size`` (high), or below 64 MiB where batches are of 64 KiB or more.

Why
    Each partition that is written to takes a batch from this memory; when it is full, ``send()`` blocks for ``max.block.ms`` and
    then fails. Less than one batch holds nothing.

Example
    ``buffer.memory=33554432 with batch.size=131072``

Use instead
    ``buffer.memory=67108864`` (librdkafka: ``queue.buffering.max.kbytes=65536``), or some batches for each partition that is written to.

Source
    Apache Kafka, buffer.memory: https://kafka.apache.org/documentation/#producerconfigs_buffer.memory
    Strimzi, Kafka producer tuning: https://strimzi.io/blog/2020/10/15/producer-tuning/
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, HIGH, MEDIUM, NOT_EVALUABLE, PASSED, PRODUCERS, Case, Judgement, Rule, judged
from udfs.rules.engine.software import is_library


def evaluate(batch: Batch) -> Judgement:
    """By the effective numbers."""
    memory, size = batch.number("buffer.memory"), batch.number("batch.size")
    tight = (size >= batch.limit(RULE, "large_batch_bytes")) & (memory < batch.limit(RULE, "minimum_bytes"))
    return judged((memory < size) | tight, ~np.isnan(memory) & ~np.isnan(size), np.where(memory < size, HIGH, MEDIUM))


RULE = Rule(
    code="AN113",
    name="buffer_memory_small",
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
    evaluate=evaluate,
    client_types=PRODUCERS,
    keys=(
        "buffer.memory",
        "batch.size",
    ),
    limits={"minimum_bytes": 67108864, "large_batch_bytes": 65536},
    cases=(
        Case(FIRED, {"buffer.memory": "16384", "batch.size": "65536"}),
        Case(FIRED, {"batch.size": "65536"}, {"buffer.memory": "33554432"}, severity="medium"),
        Case(PASSED, {"acks": "all"}, {"buffer.memory": "33554432", "batch.size": "16384"}),
        Case(PASSED, {"queue.buffering.max.kbytes": "65536", "batch.size": "65536"}, software="librdkafka", version="2.8.0"),
        Case(NOT_EVALUABLE, {"batch.size": "65536"}),
    ),
)
