"""AN214: automatic commits without a group.

What
    ``group.id`` has no value, and ``enable.auto.commit`` was set to true.

Why
    Java throws an InvalidConfigurationException: without a group there is nowhere to commit to.

Example
    ``enable.auto.commit=true without group.id``

Use instead
    A ``group.id``; or no ``enable.auto.commit``, which is off without a group.

Source
    Apache Kafka, ConsumerConfig.maybeOverrideEnableAutoCommit:
    https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/clients/consumer/ConsumerConfig.java
"""

from __future__ import annotations

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import CONSUMERS, FIRED, NOT_EVALUABLE, PASSED, Case, Judgement, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """Without a group it is off by default, so only what was set counts."""
    asked = batch.is_set("enable.auto.commit") & batch.text("enable.auto.commit", settled=False).equals("true")
    no_group = batch.is_absent("group.id")
    known = batch.text("group.id").known | no_group | (batch.text("enable.auto.commit").known & ~asked)
    return judged(asked & no_group, known)


RULE = Rule(
    code="AN214",
    name="auto_commit_without_group",
    severity="high",
    risks=("stall",),
    messages=(
        "Whether there is a group.id isn't known: it wasn't pushed, and may have been left out.",
        "There is a group to commit for, or nothing is committed.",
        "This consumer can't start: give it a group.id, or take enable.auto.commit=true away.",
    ),
    evaluate=evaluate,
    client_types=CONSUMERS,
    keys=(
        "group.id",
        "enable.auto.commit",
    ),
    dialects=frozenset({"java"}),
    cases=(
        Case(FIRED, {"enable.auto.commit": "true"}, complete=True),
        Case(PASSED, {"enable.auto.commit": "true", "group.id": "g"}),
        Case(PASSED, {"auto.offset.reset": "latest"}, complete=True),
        Case(PASSED, {"enable.auto.commit": "false"}),
        Case(NOT_EVALUABLE, {"enable.auto.commit": "true", "check.crcs": "true"}),
    ),
)
