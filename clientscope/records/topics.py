"""Our topics: what each is called and how it must be set, as data."""

from __future__ import annotations

from dataclasses import dataclass, field

CONFIGS = "clientscope.configs"
CONNECTIONS = "clientscope.connections"
RESULTS = "clientscope.results"
FINDINGS = "clientscope.findings"
DECISIONS = "clientscope.decisions"
GAUGES = "clientscope.gauges"
STATUS = "clientscope.status"
QUARANTINE = "clientscope.quarantine"
DEADLETTER = "clientscope.deadletter"

_DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True)
class Topic:
    """One topic of ours.

    Attributes:
        retention_days: for how long records stay; None where compaction decides.
        min_partitions: fewer than this and the topic is refused; more is the operator's choice.
    """

    name: str
    retention_days: int | None = None
    max_message_bytes: int = 1_048_588
    min_partitions: int = 1
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def required_configs(self) -> dict[str, str]:
        """The topic settings without which readers would be wrong, in Kafka's own names."""
        configs = {
            "message.timestamp.type": "LogAppendTime",
            "max.message.bytes": str(self.max_message_bytes),
            **self.extra,
        }
        if self.retention_days is None:
            configs["cleanup.policy"] = "compact"
        else:
            configs["cleanup.policy"] = "delete"
            configs["retention.ms"] = str(self.retention_days * _DAY_MS)
        return configs


TOPICS = (
    Topic(CONFIGS),
    Topic(CONNECTIONS, retention_days=7),
    Topic(RESULTS, retention_days=1),
    Topic(FINDINGS),
    Topic(DECISIONS),
    Topic(GAUGES),
    Topic(STATUS),
    Topic(QUARANTINE, retention_days=30),
    Topic(DEADLETTER, retention_days=30),
)

BY_NAME = {topic.name: topic for topic in TOPICS}
