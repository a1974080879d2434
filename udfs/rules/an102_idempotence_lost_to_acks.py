"""AN102: idempotence, on by default, is turned off by acks.

What
    The user set ``acks`` to 1 and said nothing about ``enable.idempotence``, in a client that would be idempotent by default:
    Java since 3.0.1 but for 3.1.0, kafka-python since 3.0, franz-go.

Why
    Java and kafka-python then turn idempotence off, with a line at INFO and no more: a retry can write a record twice and out of
    order. franz-go refuses to start. Nobody who set acks=1 for speed chose that. With ``acks=0`` nothing is tried again (AN101).

Example
    ``acks=1``

Use instead
    ``acks=all``.

Source
    Apache Kafka, ProducerConfig.postProcessAndValidateIdempotenceConfigs:
    https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/clients/producer/ProducerConfig.java
    KIP-679, the strongest delivery guarantee by default: https://cwiki.apache.org/confluence/display/KAFKA/KIP-679%3A+Producer+will+enable+the+strongest+delivery+guarantee+by+default
"""

from __future__ import annotations

from clientscope.catalog.configs import ClientType
from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, NOT_APPLICABLE, NOT_EVALUABLE, PASSED, PRODUCERS, Case, Judgement, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """Only where idempotence would be on by default, so not for librdkafka and Java before 3.0."""
    acks = batch.text("acks")
    would_be_on = batch.untouched("enable.idempotence", ClientType.PRODUCER, "true")
    chosen = batch.is_set("acks") & acks.equals("1")
    silent = ~batch.is_set("enable.idempotence")
    said = batch.is_set("enable.idempotence") | (batch.is_default("enable.idempotence") & batch.software_known)
    harmless = acks.equals("all") | (acks.known & batch.is_default("acks")) | (batch.software_known & ~would_be_on & acks.known)
    return judged(chosen & silent & would_be_on, harmless | (acks.known & said))


RULE = Rule(
    code="AN102",
    name="idempotence_lost_to_acks",
    severity="high",
    risks=("duplicates",),
    messages=(
        "What would be needed isn't known: acks, whether enable.idempotence was set, and the client library.",
        "acks doesn't turn idempotence off.",
        "acks silently disables idempotence, so retries may write records twice: set acks=all.",
    ),
    evaluate=evaluate,
    client_types=PRODUCERS,
    of_answers=True,
    keys=(
        "acks",
        "enable.idempotence",
    ),
    cases=(
        Case(FIRED, {"acks": "1"}, {"enable.idempotence": "true"}),
        Case(NOT_APPLICABLE, {"acks": "0"}, {"enable.idempotence": "false"}, version="3.9.2"),
        Case(FIRED, {"acks": "1"}, complete=True),
        Case(FIRED, {"acks": "1"}, {"enable.idempotence": "true"}, software="kafka-python", version="3.0.12"),
        Case(PASSED, {"acks": "1", "enable.idempotence": "false"}),
        Case(PASSED, {"acks": "all"}),
        Case(PASSED, {"acks": "1"}, {"enable.idempotence": "false"}, version="2.8.2"),
        Case(PASSED, {"acks": "1"}, {"enable.idempotence": "false"}, version="3.1.0"),
        Case(PASSED, {"acks": "1"}, {"enable.idempotence": "false"}, software="librdkafka", version="2.8.0"),
        Case(NOT_EVALUABLE, {"acks": "1"}),
        Case(NOT_EVALUABLE, {"acks": "1"}, {"enable.idempotence": "false"}, software="unknown", version="unknown"),
    ),
)
