"""A broker, clientscope's topics, and a gateway in front of it: the start of most benchmarks."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self

import kafka

from clientscope import topics
from clientscope.demo.fleet import Fleet
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.process import free_port

PUSHING = tuple(
    flag
    for whose in ("client", "principal", "address")
    for flag in (f"--push-rate-per-{whose}", "1000", f"--push-burst-per-{whose}", "1000")
)
"""A gateway's flags where few clients push often, all from one address and as one principal."""


class Installation:
    """Real processes, from ``with`` on until its end.

    Args:
        folder: for logs and data.
        flags: the gateway's, beyond its addresses.
        topic: one of a benchmark's own, with one partition.
        partitions: of each of clientscope's topics.
        advertised: what the broker tells clients; else the gateway.

    Attributes:
        internal: the broker's listener INTERNAL.
        broker: its listener CLIENT, round the gateway.
        address: the gateway.
    """

    def __init__(self, folder: Path, *flags: str, topic: str = "", advertised: str = "", partitions: int = 1) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        plan = BrokerPlan(free_port(), free_port(), advertised or self.address, folder / "broker")
        self.internal, self.broker = plan.internal, f"127.0.0.1:{plan.port}"
        self.processes = Fleet(folder / "logs", lambda line: None)
        self._broker = EmbeddedBroker(plan)
        self._flags, self._topic, self._partitions = flags, topic, partitions

    def __enter__(self) -> Self:
        self._broker.start()
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def _start(self) -> None:
        topics.create(self.internal, self._partitions)
        if self._topic:
            with closing(kafka.KafkaAdminClient(bootstrap_servers=self.internal)) as admin:
                admin.create_topics({self._topic: {"num_partitions": 1}}, wait_for_metadata=True)
        self.processes.start(
            "gateway", "gateway", "--bootstrap-servers", self.internal, "--listen", self.address, "--upstream", self.broker,
            "--metrics-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", *self._flags,
        )  # fmt: skip
        self.processes.await_ready("gateway")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop()

    def _stop(self) -> None:
        self.processes.stop()
        self._broker.stop()
