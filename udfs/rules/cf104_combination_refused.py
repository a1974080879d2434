"""CF104: settings that contradict each other, so that the client doesn't start.

What
    The client library checks settings against each other at the start, and refuses this combination: an idempotent producer with
    ``acks=1``, say. The checks are each library's own, by release (``udfs/rules/engine/refusals.py``).

Why
    The application ends with an error as soon as it makes its client.

Example
    ``enable.idempotence=true`` and ``acks=1``

Use instead
    One of the two settings, by what is meant.

Source
    Apache Kafka, producer configuration: https://kafka.apache.org/documentation/#producerconfigs_enable.idempotence
    librdkafka, rd_kafka_conf_finalize: https://github.com/confluentinc/librdkafka/blob/master/src/rdkafka_conf.c
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.parsing import were_seen
from udfs.rules.engine.refusals import REFUSALS, Refusal
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, Case, Evidence, Judgement, Mask, Rule, SettingOf, judged

_KEYS = frozenset(key for refusal in REFUSALS for key in refusal.keys)
_SETTLED = "enable.idempotence"
"""What others of the settings change."""
_DIALECTS = frozenset(dialect for refusal in REFUSALS for dialect in refusal.dialects)


def evaluate(batch: Batch) -> Judgement:
    """Each library's own checks."""
    fired = np.zeros(len(batch), np.bool_)
    for _, where in _found(batch):
        fired |= where
    known = batch.software.where(lambda it: it.dialect is not None and it.dialect.name in _DIALECTS) & (batch.client_types >= 0)
    started = were_seen(batch.pushes)  # with whatever was seen of it
    return judged(fired & ~started, known & ~started)


def evidence(batch: Batch, rows: npt.NDArray[np.int64]) -> Evidence:
    """The settings of the first check that fails, as they were set."""
    asked = batch.text(_SETTLED, settled=False).strings()
    settings: dict[int, tuple[SettingOf, ...]] = {}
    for refusal, where in _found(batch):
        at = rows[where[rows]]
        shown = batch.evidence(refusal.keys, at)
        for row, which in zip(at.tolist(), shown.indices.tolist(), strict=True):
            first, *others = (
                each._replace(value=asked[row].as_py()) if each.key == _SETTLED and each.origin == "set" else each
                for each in shown.distinct[which]
            )
            settings.setdefault(row, (first._replace(note=refusal.because), *others))
    distinct: dict[tuple[SettingOf, ...], int] = {}
    indices = [distinct.setdefault(settings.get(row, ()), len(distinct)) for row in rows.tolist()]
    return Evidence(np.array(indices, np.int64), list(distinct))


def _found(batch: Batch) -> list[tuple[Refusal, Mask]]:
    made = []
    asked = {key for key in _KEYS if batch.is_set(key).any()}
    for refusal in REFUSALS:
        if asked.isdisjoint(refusal.keys):
            continue  # nothing that the user didn't set is refused
        applies = refusal.applies(batch)
        if applies.any():
            # A client of unknown kind may be this one: its settings say so, since others don't have them.
            where = applies & batch.may_be(refusal.client_type) & refusal.holds(batch)
            if where.any():
                made.append((refusal, where))
    return made


RULE = Rule(
    code="CF104",
    name="combination_refused",
    severity="high",
    risks=("stall",),
    messages=(
        "The kind of client, or what its library checks, isn't known.",
        "The client's library takes its settings beside each other.",
        "Settings of this client contradict each other, and its library refuses to start with them: change one of them.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"enable.idempotence": "true", "acks": "1"}),
        Case(FIRED, {"enable.idempotence": "true", "acks": "1"}, software="librdkafka", version="2.8.0"),
        Case(FIRED, {"transactional.id": "a", "enable.idempotence": "false"}, complete=True),
        Case(FIRED, {"delivery.timeout.ms": "10000", "acks": "all"}, complete=True),
        Case(FIRED, {"group.id": "a", "group.protocol": "consumer", "session.timeout.ms": "45000"}, complete=True),
        Case(FIRED, {"enable.auto.commit": "true"}, complete=True),
        Case(PASSED, {"enable.idempotence": "true", "acks": "all"}),
        Case(PASSED, {"acks": "1"}),
        Case(PASSED, {"delivery.timeout.ms": "10000", "request.timeout.ms": "5000", "acks": "all"}, complete=True),
        Case(NOT_EVALUABLE, {"enable.idempotence": "true", "acks": "1"}, software="in-house", version="1"),
    ),
)
