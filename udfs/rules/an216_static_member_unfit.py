"""AN216: static membership that doesn't hold.

What
    Connected clients of one application and group have had one ``group.instance.id`` for ``minutes``, by what they push or by what their
    requests show. Whether ``session.timeout.ms`` is shorter than a restart takes isn't known.

Why
    A member is fenced by the other with its name. A session that ends before the restart has, causes the very rebalance that static
    membership is for.

Example
    ``group.instance.id=orders-1 on two pods``

Use instead
    A name for each instance (a StatefulSet's pod), and ``session.timeout.ms`` above the time of a restart.

Source
    Apache Kafka, group.instance.id: https://kafka.apache.org/documentation/#consumerconfigs_group.instance.id
    KIP-345: https://cwiki.apache.org/confluence/display/KAFKA/KIP-345%3A+Introduce+static+membership+protocol+to+reduce+consumer+rebalances
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import CONSUMERS, NOT_EVALUABLE, PASSED, Case, Judgement, Needs, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """A dynamic member passes; of the rest `streaming.findings` judges, since nothing can be said of a single push."""
    return judged(np.zeros(len(batch), np.bool_), batch.is_absent("group.instance.id"))


RULE = Rule(
    code="AN216",
    name="static_member_unfit",
    severity="medium",
    risks=("stall",),
    messages=(
        "One push says nothing of the group's other members.",
        "This consumer isn't a static member.",
        "Static membership doesn't hold: give each instance a group.instance.id of its own, and a session.timeout.ms above its restart.",
    ),
    evaluate=evaluate,
    client_types=CONSUMERS,
    needs=Needs.FLEET,
    keys=(
        "group.instance.id",
        "session.timeout.ms",
    ),
    limits={"minutes": 2},
    cases=(
        Case(PASSED, {"group.id": "g"}, complete=True),
        Case(NOT_EVALUABLE, {"group.instance.id": "orders-1", "group.id": "g"}),
        Case(NOT_EVALUABLE, {"group.id": "g"}),
    ),
)
