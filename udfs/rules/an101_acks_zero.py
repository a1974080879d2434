"""AN101: a producer doesn't wait for any acknowledgement.

What
    ``acks`` (librdkafka also: ``request.required.acks``) is 0.

Why
    The broker doesn't answer, so a record that never arrived, or that the broker refused, is lost without notice; retries
    and idempotence are without effect.

Example
    ``acks=0``

Use instead
    ``acks=all``, the default since Kafka 3.0; ``acks=1`` where losing the newest records with a leader is acceptable.

Source
    AWS, "Best practices for Apache Kafka clients" (MSK), acks=all; confluentinc/librdkafka#1467: "recommended to not use acks=0".
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from udfs import settings
from udfs.pushes import Pushes
from udfs.rules.rule import FIRED, NOT_EVALUABLE, PASSED, Evidence, Judgement, Rule, Setting


def evaluate(pushes: Pushes) -> Judgement:
    """Not evaluable where acks wasn't pushed, was redacted, or is no number."""
    outcomes = pc.if_else(pc.equal(settings.acks(pushes), 0), FIRED, PASSED).fill_null(NOT_EVALUABLE)
    return Judgement(outcomes.to_numpy(zero_copy_only=False).astype(np.int8))


def evidence(pushes: Pushes, rows: npt.NDArray[np.int64]) -> Evidence:
    """The setting, under the name it was pushed by."""
    names = pushes.settings["config_key"].take(settings.positions(pushes, settings.ACKS).take(pa.array(rows))).dictionary_encode()
    return Evidence(names.indices.to_numpy().astype(np.int64), [(Setting(name, "0"),) for name in names.dictionary.to_pylist()])


RULE = Rule(
    code="AN101",
    name="acks_zero",
    severity="high",
    messages=(
        "acks was not pushed, or not as a number.",
        "This client waits for acknowledgements.",
        "This producer waits for no acknowledgement and loses records without notice: set acks=all.",
    ),
    evaluate=evaluate,
    evidence=evidence,
)
