"""Software of the gateway's broker, for DescribeCluster, and of the cluster's other brokers, for ``/v1/brokers``."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from clientscope.clock import now_ms
from clientscope.cluster.api_versions import AnswerState, BrokerAnswer, ask
from clientscope.cluster.software import (
    KAFKA,
    BrokerDetails,
    FoundSoftware,
    SoftwareSource,
    find_all,
    from_jmx,
    from_ranges,
)
from clientscope.config import GatewaySettings
from clientscope.errors import EnvironmentProblem
from clientscope.gateway.place import GatewayPlace
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import Broker
from clientscope.model.status import BrokerStatus
from clientscope.wire.describe_cluster import BrokerSoftware

log = logging.getLogger(__name__)

_EVERY_S = 30.0
_KEPT_S = 10.0


class KnownBrokers:
    """The broker behind this gateway, as declared or as its JMX says; the others as they are when asked.

    On the wire it is Apache Kafka without a version where nothing else is known (KIP-885): other software has to be declared.  An
    inferred range of releases is no version, and never goes there.

    Attributes:
        has_rack: whether the broker behind this gateway has a rack, as of the last `status`.
    """

    def __init__(self, settings: GatewaySettings, broker_id: int) -> None:
        self._settings = settings
        self._broker_id = broker_id
        name, version = settings.broker_software_name or None, settings.broker_software_version or None
        self._declared = FoundSoftware(name or KAFKA, version, SoftwareSource.DECLARED) if name or version else None
        self._software = self._declared
        self.has_rack = False
        self._problem = ""
        self._asking = threading.Lock()
        self._listed: list[BrokerDetails] = []
        self._listed_s = -_KEPT_S

    @property
    def on_the_wire(self) -> BrokerSoftware:
        """The software that DescribeCluster names for this broker (KIP-885)."""
        return BrokerSoftware(self._software.name, self._software.version) if self._software else BrokerSoftware(KAFKA, None)

    def look(self) -> None:
        """Reads the broker's JMX, where nothing is declared. Blocks for some seconds at most."""
        if self._declared is not None or not self._settings.broker_jmx:
            return
        problem = ""
        try:
            self._software = from_jmx(self._settings.broker_jmx)
        except EnvironmentProblem as error:
            self._software, problem = None, str(error)
        if problem and problem != self._problem:
            log.warning("DescribeCluster says no version: %s", problem)
        self._problem = problem

    async def watch(self, changed: Callable[[], None]) -> None:
        """Checks repeatedly and reports a change: a broker may be upgraded while its gateway keeps running."""
        while self._declared is None and self._settings.broker_jmx:
            await asyncio.sleep(_EVERY_S)
            before = self.on_the_wire
            await asyncio.to_thread(self.look)
            if self.on_the_wire != before:
                changed()

    def status(self, place: GatewayPlace, interval_ms: int) -> BrokerStatus:
        """What this gateway's own broker runs and takes. Blocks, as it asks the broker; from any thread but the event loop's."""
        answer = BrokerAnswer(Broker(self._broker_id, "", 0), AnswerState.UNREACHABLE, "the cluster names no such broker")
        try:
            for answer in ask(KafkaAccess.of(self._settings).client_arguments(), only=self._broker_id).answers:
                self.has_rack = bool(answer.broker.rack)
        except EnvironmentProblem as error:
            answer = replace(answer, reason=str(error))
        software = self._software or from_ranges(answer)
        return BrokerStatus(
            id=f"{place.cluster_id}/{self._broker_id}",
            cluster=place.cluster_id,
            broker=self._broker_id,
            host=answer.broker.host,
            port=answer.broker.port,
            rack=answer.broker.rack or "",
            software_name=software.name or "",
            software_version=software.version or "",
            source=software.source or "unknown",
            apis={str(key): (low, high) for key, (low, high) in sorted(answer.ranges.items())},
            reason=answer.reason,
            gateway=place.gateway_id,
            told_ms=now_ms(),
            interval_ms=interval_ms,
        )

    def listing(self) -> list[BrokerDetails]:
        """Every broker and its software; asks the cluster anew after ten seconds. Blocks; from any thread but the event loop's.

        A broker other than this gateway's is inferred, since its settings are another gateway's.
        """
        with self._asking:
            if time.monotonic() - self._listed_s >= _KEPT_S:
                known = {self._broker_id: self._software} if self._software else {}
                self._listed = find_all(ask(KafkaAccess.of(self._settings).client_arguments()).answers, known, {})
                self._listed_s = time.monotonic()
            return self._listed
