"""AN207: offsets are committed by the clock.

What
    ``enable.auto.commit`` is true, set or by default. A Java consumer without a group has it off.

Why
    What was polled is committed after a while, whether it was worked on or not: around a crash records are lost or read twice. For
    information, since many applications can live with it.

Example
    ``enable.auto.commit=true``

Use instead
    ``enable.auto.commit=false``, and a commit once the records are worked on.

Source
    Apache Kafka, enable.auto.commit: https://kafka.apache.org/documentation/#consumerconfigs_enable.auto.commit
    Strimzi, developing client applications: https://strimzi.io/blog/2021/01/07/consumer-tuning/
"""

from __future__ import annotations

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import CONSUMERS, FIRED, NOT_EVALUABLE, PASSED, Case, Judgement, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """By the effective value."""
    commits = batch.text("enable.auto.commit")
    return judged(commits.equals("true"), commits.isin({"true", "false"}))


RULE = Rule(
    code="AN207",
    name="auto_commit",
    severity="info",
    risks=("loss", "duplicates"),
    messages=(
        "enable.auto.commit was not pushed.",
        "The application commits its offsets.",
        "Offsets are committed whether records were worked on or not: set enable.auto.commit=false and commit after "
        "the work, where that matters.",
    ),
    evaluate=evaluate,
    client_types=CONSUMERS,
    keys=("enable.auto.commit",),
    cases=(
        Case(FIRED, {"enable.auto.commit": "true"}),
        Case(FIRED, {"group.id": "g"}, complete=True),
        Case(PASSED, {"auto.offset.reset": "latest"}, complete=True),
        Case(PASSED, {"DisableAutoCommit": "true", "group.id": "g"}, software="kgo", version="v1.21.0", complete=True),
        Case(NOT_EVALUABLE, {"group.id": "g"}),
    ),
)
