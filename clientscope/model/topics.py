"""Topics of clientscope, as data: names and required settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

CONFIGS = "clientscope.configs"
CONNECTIONS = "clientscope.connections"
RESULTS = "clientscope.results"
INPUTS = "clientscope.inputs"
FINDINGS = "clientscope.findings"
DECISIONS = "clientscope.decisions"
GAUGES = "clientscope.gauges"
STATUS = "clientscope.status"
QUARANTINE = "clientscope.quarantine"
TELEMETRY = "clientscope.telemetry"
JOB = "clientscope.job"

_DAY_MS = 24 * 60 * 60 * 1000
_TOMBSTONE_MS = 7 * _DAY_MS
"""A job that was away for less sees each tombstone; Kafka itself keeps them for a day."""


@dataclass(frozen=True)
class Topic:
    """One topic of ours.

    Attributes:
        retention_days: for how long records stay; None where compaction decides.
    """

    name: str
    retention_days: int | None = None
    max_message_bytes: int = 1_048_588

    @property
    def required_retention_ms(self) -> int:
        """For how long records stay at least; -1 where compaction decides."""
        return -1 if self.retention_days is None else self.retention_days * _DAY_MS

    @property
    def required_configs(self) -> dict[str, str]:
        """The topic settings without which readers would be wrong, in Kafka's own names."""
        configs = {
            "message.timestamp.type": "LogAppendTime",
            "max.message.bytes": str(self.max_message_bytes),
        }
        if self.retention_days is None:
            configs |= {"cleanup.policy": "compact", "delete.retention.ms": str(_TOMBSTONE_MS)}
        else:
            configs["cleanup.policy"] = "delete"
            configs["retention.ms"] = str(self.required_retention_ms)
        return configs


TOPICS = (
    Topic(CONFIGS),
    Topic(CONNECTIONS, retention_days=7),
    Topic(RESULTS),
    Topic(INPUTS, retention_days=1),
    Topic(FINDINGS),
    Topic(DECISIONS),
    Topic(GAUGES),
    Topic(STATUS),
    Topic(QUARANTINE, retention_days=30),
    Topic(TELEMETRY, retention_days=1),
    Topic(JOB),
)

BY_NAME = {topic.name: topic for topic in TOPICS}


class TopicUse(NamedTuple):
    """Topics that a process reads, and those that it writes."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]


USED_BY: Mapping[str, TopicUse] = {
    "gateway": TopicUse((CONNECTIONS,), (CONFIGS, CONNECTIONS, STATUS)),
    "stream": TopicUse(
        (CONFIGS, CONNECTIONS, RESULTS, INPUTS, GAUGES, FINDINGS, DECISIONS, STATUS, JOB),
        (CONFIGS, RESULTS, INPUTS, FINDINGS, GAUGES, QUARANTINE, STATUS, JOB),
    ),
    "serve": TopicUse((GAUGES, CONNECTIONS, RESULTS, FINDINGS, CONFIGS, STATUS), (STATUS, DECISIONS)),
    "deliver": TopicUse((FINDINGS,), (STATUS,)),
    "findings": TopicUse((FINDINGS, DECISIONS), (DECISIONS,)),
}
"""By process or command: what its principal needs rights for; `used_by` where that depends on settings."""


def used_by(process: str, client_telemetry: bool) -> TopicUse:
    """What a process or command of `USED_BY` reads and writes.

    Args:
        client_telemetry: whether it has ``--client-telemetry``: gateways write clients' own metrics, and the job reads them.
    """
    reads, writes = USED_BY[process]
    if client_telemetry and process == "gateway":
        return TopicUse(reads, (*writes, TELEMETRY))
    if client_telemetry and process == "stream":
        return TopicUse((*reads, TELEMETRY), writes)
    return USED_BY[process]
