"""Values of ``clientscope.gauges``: the counts of each gateway, by series and as a whole."""

from __future__ import annotations

from clientscope.topic_values import Count, Name, TopicValue


class GaugeValue(TopicValue):
    """Value of ``clientscope.gauges``: the connections of one series at one gateway."""

    cluster: Name
    broker: int
    gateway: Name
    listener: Name
    software_name: Name
    software_version: Name
    connections: Count
    opened: Count = 0
    closed: Count = 0
    epoch: int = 0
    sequence: int = 0
    timestamp_ms: int = 0


class GatewayValue(TopicValue):
    """Value of ``clientscope.gauges``: what concerns a gateway as a whole.  None is what it doesn't tell."""

    cluster: Name
    broker: int
    gateway: Name
    instances: Count
    opened_per_minute: Count | None = None
    closed_per_minute: Count | None = None
    opened: Count | None = None
    closed: Count | None = None
    other_series: Count = 0
    clock_skew_minutes: int = 0
    epoch: int = 0

    @property
    def figures(self) -> tuple[int | None, ...]:
        """What is shown."""
        return self.instances, self.opened_per_minute, self.closed_per_minute, self.other_series
