"""CF101: a setting that the client library doesn't know.

What
    No release of the client's library has a setting of this name, under a prefix either, and no other library has it. Where the name is a
    few letters away from one of the library's settings, that one is shown. Settings of plug-ins (a serializer's ``schema.registry.url``)
    aren't in the catalogue: an unknown name that is near to none is only for information, and only in files, unless the library refuses it.

Why
    Java's clients and KafkaJS ignore it, so the setting that was meant keeps its default. librdkafka, kafka-python and aiokafka refuse to
    start.

Example
    ``linger.msec=5``

Use instead
    The name as the library's documentation has it. A plug-in's setting is best written with the plug-in's own prefix.

Source
    Apache Kafka, configuration: https://kafka.apache.org/documentation/#configuration
    librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clientscope.catalog.dialects import DIALECTS
from clientscope.catalog.setting_names import NameState, is_plugins
from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, HIGH, INFO, MEDIUM, NOT_EVALUABLE, PASSED, Case, Evidence, Judgement, Rule

_REFUSING = [number for number, dialect in enumerate(DIALECTS) if dialect.name in ("librdkafka", "kafka-python", "aiokafka")]
"""Libraries that don't start with a setting that they don't know."""


def evaluate(batch: Batch) -> Judgement:
    """A name that is near to a known one, or that the library refuses; any other in a file, for information."""
    checked = batch.checked
    positions, severities = _found(batch)
    # A push that isn't searched to its end isn't clean: thousands of unknown names in one batch are no client's mistake.
    return checked.verdict(positions, severities, batch.software_known & (checked.searched | batch.complete))


def evidence(batch: Batch, rows: npt.NDArray[np.int64]) -> Evidence:
    """Those settings, and the names that are probably meant."""
    return batch.checked.evidence(_found(batch)[0], rows, "did you mean {instead}?")


def _found(batch: Batch) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int8]]:
    """Positions of the settings, and their severities."""
    checked = batch.checked
    positions = checked.named(NameState.UNKNOWN)
    if not positions.size:
        return positions, np.zeros(0, np.int8)
    near = np.array([bool(each and each.instead) for each in checked.judgements])[checked.which[positions]]
    refusing = np.isin(batch.software.dialects[batch.pushes.parents[positions]], _REFUSING)
    # Applications share a file with a serializer's settings, and take them out before they make the client.
    plugins = np.array([is_plugins(name) for name in batch.names.raw])[batch.names.codes[positions]]
    severities = np.where(near | (refusing & ~plugins), np.where(refusing, HIGH, MEDIUM), INFO).astype(np.int8)
    kept = np.full(positions.size, True) if batch.complete else near
    return positions[kept], severities[kept]


RULE = Rule(
    code="CF101",
    name="key_unknown",
    severity="high",
    risks=(
        "drift",
        "stall",
    ),
    messages=(
        "The client library isn't known, or too many unknown settings came at once.",
        "The library knows every setting of this client.",
        "Settings of this client are unknown to its library, which ignores them or refuses to start: correct their names.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"acks": "all", "linger.msec": "5"}, severity="medium"),
        Case(FIRED, {"acks": "all", "linger.msec": "5"}, software="librdkafka", version="2.8.0", severity="high"),
        Case(FIRED, {"acks": "all", "orders.region": "eu"}, complete=True, severity="info"),
        Case(FIRED, {"acks": "all", "orders.region": "eu"}, software="librdkafka", version="2.8.0", complete=True, severity="high"),
        Case(FIRED, {"acks": "all", "schema.registry.url": "a"}, software="librdkafka", version="2.8.0", complete=True, severity="info"),
        Case(PASSED, {"acks": "all", "orders.region": "eu"}),
        Case(PASSED, {"acks": "all", "linger.ms": "5"}),
        Case(NOT_EVALUABLE, {"acks": "all", "linger.msec": "5"}, software="in-house", version="1"),
    ),
)
