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

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, PRODUCERS, Case, Judgement, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """A library's own default isn't a wish for large batches."""
    size, linger = batch.number("batch.size"), batch.number("linger.ms")
    wished = batch.is_set("batch.size") & (size > batch.limit(RULE, "large_bytes"))
    return judged(wished & (linger <= 0), ~np.isnan(size) & ~np.isnan(linger))


RULE = Rule(
    code="AN111",
    name="batch_never_fills",
    severity="info",
    risks=("cost",),
    messages=(
        "batch.size and linger.ms are needed, and were not both pushed.",
        "Batches have time to fill, or aren't meant to be large.",
        "Batches of this size never fill with linger.ms=0: set linger.ms=5 or more.",
    ),
    evaluate=evaluate,
    client_types=PRODUCERS,
    keys=(
        "batch.size",
        "linger.ms",
    ),
    limits={"large_bytes": 16384},
    cases=(
        Case(FIRED, {"batch.size": "131072", "linger.ms": "0"}),
        Case(FIRED, {"batch.size": "131072"}, {"linger.ms": "0"}, version="3.9.2"),
        Case(PASSED, {"batch.size": "131072"}, {"linger.ms": "5"}),
        Case(PASSED, {"linger.ms": "0"}, software="librdkafka", version="2.8.0", complete=True),
        Case(NOT_EVALUABLE, {"batch.size": "131072"}),
    ),
)
