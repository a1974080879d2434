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
import numpy.typing as npt
import pyarrow as pa

from clientscope.records.codec import ValueState
from udfs.pushes import Pushes
from udfs.rules.rule import FIRED, PASSED, Evidence, Judgement, Rule, Setting

_EVIDENCE = ("config_key", "value_state", "value_length", "value_digest")
_REASONS = {int(state): state.name.lower() for state in ValueState}


def evaluate(pushes: Pushes) -> Judgement:
    """Fires where a value was redacted, by the gateway or by us; a push can always be judged."""
    outcomes = np.full(len(pushes), PASSED, np.int8)
    outcomes[pushes.parents[_redacted(pushes)]] = FIRED
    return Judgement(outcomes)


def evidence(pushes: Pushes, rows: npt.NDArray[np.int64]) -> Evidence:
    """All of a push's redacted settings.  A loop, over leaks alone."""
    found: dict[int, list[Setting]] = {row: [] for row in rows.tolist()}
    chosen = _redacted(pushes)
    chosen = chosen[np.isin(pushes.parents[chosen], rows)]
    columns = [pushes.settings[name].take(pa.array(chosen)).to_pylist() for name in _EVIDENCE]
    for row, key, state, length, digest in zip(pushes.parents[chosen].tolist(), *columns, strict=True):
        # A state from a newer gateway, or a made-up one, has no name here.
        found[row].append(Setting(key, None, _REASONS.get(state, "unknown"), length, digest and digest.hex()))
    distinct: dict[tuple[Setting, ...], int] = {}
    indices = [distinct.setdefault(tuple(settings), len(distinct)) for settings in found.values()]
    return Evidence(np.array(indices, np.int64), list(distinct))


def _redacted(pushes: Pushes) -> npt.NDArray[np.int64]:
    return np.flatnonzero(pushes.settings["value_state"].to_numpy(zero_copy_only=False) != ValueState.PRESENT)


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
)
