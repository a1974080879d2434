"""AN210: many small fetches.

What
    ``fetch.min.bytes`` is 1, the default, and in two reports within the last hour, which are a minute or more apart, and all between them,
    a connected consumer said in its own metrics that it made at least ``fetches_per_second`` fetches a second and got as many records,
    and that a fetch brought at most ``fetch_bytes`` bytes on average. More than 1 passes. How often a client fetches is known where the
    job reads clients' metrics (``--client-telemetry``).

Why
    The broker answers as soon as there is a byte. With a slow stream of small records each is a request of its own, for every
    consumer. A fetch that waits for twice as many bytes as it brings takes twice the time, so there are half as many: at such a rate
    that is some milliseconds, and never more than ``fetch.max.wait.ms``.

Example
    400 fetches a second of 120 bytes with ``fetch.min.bytes=1``

Use instead
    The ``fetch.min.bytes`` that the finding names, or more, with the ``fetch.max.wait.ms`` that the application can wait.

Source
    Apache Kafka, fetch.min.bytes: https://kafka.apache.org/documentation/#consumerconfigs_fetch.min.bytes
    KIP-714: https://cwiki.apache.org/confluence/display/KAFKA/KIP-714
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FETCHING, NOT_EVALUABLE, PASSED, Case, Judgement, Needs, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """What waits for more than a byte passes; of the rest `streaming.findings` judges, since nothing can be said of a single push."""
    waits = batch.number("fetch.min.bytes") > 1
    return judged(np.zeros(len(batch), np.bool_), waits)


RULE = Rule(
    code="AN210",
    name="fetch_min_bytes_one",
    severity="info",
    risks=("cost",),
    messages=(
        "Whether fetch.min.bytes matters depends on the rate of fetches, of which a push says nothing.",
        "Fetches wait for more than a byte.",
        "This consumer fetches very often and gets little: raise fetch.min.bytes where some milliseconds don't matter.",
    ),
    evaluate=evaluate,
    client_types=FETCHING,
    needs=Needs.FLEET,
    keys=("fetch.min.bytes",),
    limits={"fetches_per_second": 50, "fetch_bytes": 16384},
    cases=(
        Case(PASSED, {"fetch.min.bytes": "1024"}),
        Case(NOT_EVALUABLE, {"fetch.min.bytes": "1"}),
        Case(NOT_EVALUABLE, {"group.id": "g"}),
    ),
)
