"""API models of gauges."""

from __future__ import annotations

from clientscope.api.common import Listing
from clientscope.gauges import Gauge


class GaugeList(Listing):
    """Every series of every gateway, largest first."""

    items: list[Gauge]
