"""SK001: a client pushed a setting that holds a credential, or may.

What
    A pushed setting's key, type or value marks it as sensitive: Kafka's own prefixes, infixes, suffixes and types, the words
    that other dialects use, or a value in the shape of a credential.  ``reason`` says which.

Why
    KIP-1324 keeps such settings on the client.  One that was pushed has crossed the network and reached whoever reads the
    pushes; the gateway redacts it, but that the client sends it at all means that it will leak elsewhere.

Example
    ``sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";``

Use instead
    A client that applies KIP-1324's exclusion, and ``config.push.allowed.keys`` without such keys; then a new credential.

Source
    KIP-1324, "Excluding Sensitive Configuration": https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
    Underscore spellings and values from public issue trackers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clientscope.records.codec import ValueState
from udfs.rules.batch import Batch
from udfs.rules.rule import FIRED, PASSED, Case, Evidence, Judgement, Rule, Setting

_REASONS = {int(state): state.name.lower() for state in ValueState}


def evaluate(batch: Batch) -> Judgement:
    """Fires where a value was redacted, by the gateway or by us; a push can always be judged."""
    states = batch.pushes.settings["value_state"].to_numpy(zero_copy_only=False)
    outcomes = np.full(len(batch), PASSED, np.int8)
    outcomes[batch.pushes.parents[states != ValueState.PRESENT]] = FIRED
    return Judgement(outcomes)


def evidence(batch: Batch, rows: npt.NDArray[np.int64]) -> Evidence:
    """All redacted settings of each push; what is said of a leak is hardly ever the same twice."""
    settings, parents = batch.pushes.settings, batch.pushes.parents
    states = settings["value_state"].to_numpy(zero_copy_only=False)
    redacted = np.flatnonzero((states != ValueState.PRESENT) & np.isin(parents, rows))
    found: dict[int, list[Setting]] = {row: [] for row in rows.tolist()}
    for position in redacted.tolist():
        digest = settings["value_digest"][position].as_py()
        # A state from a newer gateway, or a made-up one, is unknown.
        reason = _REASONS.get(int(states[position]), "unknown")
        key, length = settings["config_key"][position].as_py(), settings["value_length"][position].as_py()
        found[int(parents[position])].append(Setting(key, None, "pushed", reason, length, digest and digest.hex()))
    return Evidence(np.arange(rows.size), [tuple(found[row]) for row in rows.tolist()])


RULE = Rule(
    code="SK001",
    name="pushed_credential",
    severity="critical",
    messages=(
        "",
        "No pushed setting holds a credential.",
        "This client pushes settings that hold credentials: keep them out of what it pushes, and replace the credentials.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"sasl.jaas.config": None}),
        Case(PASSED, {"acks": "1"}),
    ),
)
