"""AN306: a client that can't be distinguished from others.

What
    ``client.id`` is empty, or what the library makes up: rdkafka, kgo, sarama, kafkajs, producer-1, kafka-python-3.0.12. That many
    principals or addresses share one is judged across the fleet, once its state is there.

Why
    Logs, metrics and this very page can't say which application it is, and brokers' quotas by client.id are shared with strangers.

Example
    ``client.id=rdkafka``

Use instead
    ``client.id`` with the application's name, and the instance's behind it.

Source
    Apache Kafka, client.id: https://kafka.apache.org/documentation/#consumerconfigs_client.id
    KAFKA-14098: https://issues.apache.org/jira/browse/KAFKA-14098
    KIP-190: https://cwiki.apache.org/confluence/display/KAFKA/KIP-190%3A+Handle+client-ids+consistently+between+clients+and+brokers
"""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, PASSED, Case, Judgement, Rule, judged

_MADE_UP = (
    r"^(?:|rdkafka|kgo|sarama|kafkajs|(?:producer|consumer|adminclient)-\d+|consumer-null-\d+"
    r"|kafka-python-(?:\{version\}|[\d.]+|producer-\d+|consumer-\d+|admin-\d+)|aiokafka-(?:\{version\}|[\d.]+|producer-\d+|consumer-\d+))$"
)


def evaluate(batch: Batch) -> Judgement:
    """By the setting, or else by the request header; a name that a library makes up is recognised by its shape."""
    pushed = batch.text("client.id")
    fired = pushed.matches(_MADE_UP) | batch.is_default("client.id")
    if not pushed.known.all():
        header = batch.pushes.records.field("client_id").fill_null("").dictionary_encode()
        made_up = pc.match_substring_regex(header.dictionary, _MADE_UP).to_numpy(zero_copy_only=False)
        by_header = made_up[header.indices.to_numpy(zero_copy_only=False)] & ~batch.is_set("client.id")
        fired = np.where(pushed.known, fired, by_header)
    return judged(fired, np.ones(len(batch), np.bool_))


RULE = Rule(
    code="AN306",
    name="client_id_anonymous",
    severity="medium",
    risks=("cost",),
    messages=(
        "What client.id is isn't known.",
        "This client says which application it is.",
        "This client can't be distinguished from others: set client.id to the application's name.",
    ),
    evaluate=evaluate,
    keys=("client.id",),
    cases=(
        Case(FIRED, {"client.id": ""}),
        Case(FIRED, {}, {"client.id": "consumer-orders-1"}),
        Case(FIRED, {"acks": "all"}, software="librdkafka", version="2.8.0", client_id="rdkafka"),
        Case(FIRED, {"acks": "all"}, client_id="producer-12"),
        Case(FIRED, {"acks": "all"}, client_id=None),
        Case(FIRED, {"acks": "all"}, complete=True, client_id=None),
        Case(PASSED, {"client.id": "orders"}, complete=True, client_id=None),
        Case(PASSED, {"acks": "all"}, client_id="producer-orders-1"),
    ),
)
