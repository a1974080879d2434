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
    KIP-1324, "Excluding Sensitive Configuration"; underscore spellings and values from public issue trackers.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from clientscope.records.codec import ValueState
from udfs.pushes import Pushes
from udfs.rules.rule import FIRED, PASSED, SETTING, Judgement, Rule

_REASONS = pa.array([state.name.lower() for state in ValueState] + ["unknown"])


def evaluate(pushes: Pushes) -> Judgement:
    """Fires where a value was redacted, by the gateway or by us; a push can always be judged."""
    states = pushes.settings["value_state"].to_numpy(zero_copy_only=False)
    chosen = np.flatnonzero(states != ValueState.PRESENT)
    outcomes = np.full(len(pushes), PASSED, np.int8)
    outcomes[pushes.parents[chosen]] = FIRED
    taken = {name: column.take(pa.array(chosen)) for name, column in pushes.settings.items()}
    # A state from a newer gateway, or a made-up one.
    known = np.isin(states[chosen], list(ValueState))
    columns: list[pa.Array] = [
        taken["config_key"],
        pa.nulls(chosen.size, pa.string()),
        _REASONS.take(pa.array(np.where(known, states[chosen], len(ValueState)))),
        taken["value_length"],
        pa.array([digest and digest.hex() for digest in taken["value_digest"].to_pylist()], pa.string()),
    ]
    return Judgement(outcomes, pushes.group(chosen, pa.StructArray.from_arrays(columns, fields=list(SETTING))))


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
)
