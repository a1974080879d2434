"""AN305: a fixed, small socket buffer.

What
    ``send.buffer.bytes`` or ``receive.buffer.bytes`` was set below 64 KiB. -1 (librdkafka: 0) leaves it to the operating system,
    and passes.

Why
    A connection moves at most one buffer in a round trip: 32 KiB at 50 ms are 640 kB/s. What the operating system would grow by
    itself, a fixed size forbids.

Example
    ``receive.buffer.bytes=16384``

Use instead
    ``send.buffer.bytes=-1`` and ``receive.buffer.bytes=-1``; librdkafka: ``socket.send.buffer.bytes=0`` and
    ``socket.receive.buffer.bytes=0``.

Source
    Apache Kafka, receive.buffer.bytes: https://kafka.apache.org/documentation/#consumerconfigs_receive.buffer.bytes
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, Case, Judgement, Needs, Rule, judged
from udfs.rules.engine.software import is_library


def evaluate(batch: Batch) -> Judgement:
    """Java's own defaults are small too; only what was set counts."""
    fired, known = np.zeros((2, len(batch)), np.bool_)
    for key in RULE.keys:
        size = batch.number(key)
        fired |= batch.is_set(key) & (size > 0) & (size < batch.limit(RULE, "minimum_bytes"))
        known |= ~np.isnan(size) | batch.is_absent(key)
    return judged(fired, known)


RULE = Rule(
    code="AN305",
    name="socket_buffer_small",
    severity="info",
    risks=("cost",),
    messages=(
        "Neither send.buffer.bytes nor receive.buffer.bytes was pushed.",
        "Socket buffers weren't fixed at a small size.",
        "Small socket buffers limit throughput over distance: set send.buffer.bytes and receive.buffer.bytes to {minimum_bytes}, or -1.",
    ),
    instead=(
        (
            is_library("librdkafka"),
            "Small socket buffers limit throughput over distance: set socket.send.buffer.bytes and socket.receive.buffer.bytes to "
            "{minimum_bytes}, or to 0 for the operating system's.",
        ),
    ),
    evaluate=evaluate,
    needs=Needs.ALLOWED_KEYS,
    keys=(
        "send.buffer.bytes",
        "receive.buffer.bytes",
    ),
    limits={"minimum_bytes": 65536},
    cases=(
        Case(FIRED, {"receive.buffer.bytes": "16384"}),
        Case(FIRED, {"socket.send.buffer.bytes": "16384"}, software="librdkafka", version="2.8.0"),
        Case(PASSED, {"send.buffer.bytes": "-1"}),
        Case(PASSED, {"acks": "all"}, complete=True),
        Case(NOT_EVALUABLE, {"acks": "all"}),
    ),
)
