"""AN210: many small fetches.

What
    ``fetch.min.bytes`` is 1, the default, while fetches are many. More than 1 passes. How often a client fetches shows on the wire,
    so 1 isn't judged until that is observed.

Why
    The broker answers as soon as there is a byte. With a slow stream of small records each is a request of its own, for every
    consumer.

Example
    ``fetch.min.bytes=1``

Use instead
    ``fetch.min.bytes=1024`` or more, with the ``fetch.max.wait.ms`` that the application can wait.

Source
    Apache Kafka, fetch.min.bytes: https://kafka.apache.org/documentation/#consumerconfigs_fetch.min.bytes
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FETCHING, NOT_EVALUABLE, PASSED, Case, Judgement, Needs, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """What waits for more than a byte passes; of the rest nothing can be said."""
    waits = batch.number("fetch.min.bytes") > 1
    return judged(np.zeros(len(batch), np.bool_), waits)


RULE = Rule(
    code="AN210",
    name="fetch_min_bytes_one",
    severity="info",
    risks=("cost",),
    messages=(
        "Whether fetch.min.bytes matters depends on the rate of fetches, which isn't observed.",
        "Fetches wait for more than a byte.",
        "This consumer fetches very often and gets little: set fetch.min.bytes=1024 or more.",
    ),
    evaluate=evaluate,
    client_types=FETCHING,
    needs=Needs.WIRE,
    keys=("fetch.min.bytes",),
    cases=(
        Case(PASSED, {"fetch.min.bytes": "1024"}),
        Case(NOT_EVALUABLE, {"fetch.min.bytes": "1"}),
        Case(NOT_EVALUABLE, {"group.id": "g"}),
    ),
)
