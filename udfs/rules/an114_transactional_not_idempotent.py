"""AN114: transactions without idempotence.

What
    ``transactional.id`` is set, and ``enable.idempotence`` is false by the user's own word.

Why
    Transactions are built on idempotence: Java throws a ConfigException, librdkafka, franz-go and Sarama refuse as well. Sarama's
    default is false, so there it must be said.

Example
    ``transactional.id=orders-1 with enable.idempotence=false``

Use instead
    ``enable.idempotence=true``, or no word of it where it is the default.

Source
    Apache Kafka, transactional.id: https://kafka.apache.org/documentation/#producerconfigs_transactional.id
    librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    Sarama, Config.Validate: https://github.com/IBM/sarama/blob/main/config.go
"""

from __future__ import annotations

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, NOT_APPLICABLE, NOT_EVALUABLE, PASSED, PRODUCERS, Case, Judgement, Needs, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """By what was set; a client that starts nevertheless got another value elsewhere."""
    transactional = batch.text("transactional.id")
    idempotence = batch.text("enable.idempotence", settled=False)
    sarama = batch.software.where(lambda it: it.dialect is not None and it.dialect.name == "sarama")
    off = idempotence.equals("false") & (batch.is_set("enable.idempotence") | sarama)
    has_one = transactional.known & ~transactional.equals("")
    known = (idempotence.known & ~off) | batch.is_absent("transactional.id") | (transactional.known & idempotence.known)
    return judged(has_one & off, known)


RULE = Rule(
    code="AN114",
    name="transactional_not_idempotent",
    severity="high",
    risks=("stall",),
    messages=(
        "transactional.id was not pushed.",
        "There are no transactions, or they are idempotent.",
        "A transactional producer must be idempotent and won't start: take enable.idempotence=false away, or transactional.id.",
    ),
    evaluate=evaluate,
    client_types=PRODUCERS,
    needs=Needs.ALLOWED_KEYS,
    keys=(
        "transactional.id",
        "enable.idempotence",
    ),
    dialects=frozenset({"java", "librdkafka", "franz-go", "sarama"}),
    cases=(
        Case(FIRED, {"transactional.id": "t", "enable.idempotence": "false"}),
        Case(FIRED, {"transactional.id": "t", "enable.idempotence": "false"}, complete=True),
        Case(FIRED, {"Producer.Transaction.ID": "t"}, software="sarama", version="v1.43.0", complete=True),
        Case(PASSED, {"transactional.id": "t"}, complete=True),
        Case(PASSED, {"enable.idempotence": "true"}),
        Case(PASSED, {"enable.idempotence": "false"}, complete=True),
        Case(NOT_EVALUABLE, {"enable.idempotence": "false"}),
        Case(NOT_APPLICABLE, {"transactional_id": "t", "enable_idempotence": "false"}, software="kafka-python", version="3.0.12"),
    ),
)
