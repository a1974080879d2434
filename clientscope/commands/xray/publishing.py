"""Publication of found clients (``--publish``): their records to ``clientscope.configs``, acknowledged, at a bounded rate."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing

from kafka.errors import KafkaError

from clientscope import topics
from clientscope.clock import now_ms
from clientscope.cluster.api_versions import ask
from clientscope.commands.lint.shown import plain
from clientscope.commands.xray import XraySettings
from clientscope.digest import DigestKey
from clientscope.errors import EnvironmentProblem
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.writer import TopicWriter
from clientscope.policy.found_clients import MOST_RECORD_BYTES, MOST_RECORDS, FoundClients
from clientscope.records.topics import CONFIGS

CLIENT_ID = "clientscope-xray"
RECORDS_PER_S = 1_000
"""As many pushes a gateway takes by default (``push_rate``)."""

_BATCH = 200


class Publishing:
    """The records of one run, and where they go.

    Attributes:
        clients: takes what the run finds, until `send`.
    """

    def __init__(self, settings: XraySettings) -> None:
        """Asks the cluster for its id, and checks the topic, before anything is read.

        Raises:
            SettingsError: see `KafkaAccess.of` and `DigestKey.read`.
            EnvironmentProblem: no broker answers; the topic is missing, or not as ``clientscope topics`` creates it; a right is missing.
        """
        self._access = KafkaAccess.of(settings)
        key = DigestKey.read(settings.digest_key_file) if settings.digest_key_file else None
        cluster = ask(self._access.client_arguments())
        if not cluster.cluster_id or not cluster.answers:
            raise EnvironmentProblem("the cluster has no id", "--publish needs a broker of Kafka 0.10.1 or later")
        topics.verify(self._access, writes=[CONFIGS])
        self.clients = FoundClients(cluster.cluster_id, min(each.broker.id for each in cluster.answers), now_ms(), key)

    def send(self) -> list[str]:
        """Writes all records, and says on standard error how many; returns what failed, one sentence each."""
        acknowledged, failed = self._write(self.clients.records)
        clients = "1 client" if acknowledged == 1 else f"{acknowledged:,} clients"
        print(f"published {clients} to {CONFIGS}", file=sys.stderr, flush=True)
        return [*failed, *self._left_out()]

    def _write(self, records: Mapping[str, bytes]) -> tuple[int, list[str]]:
        acknowledged = 0
        if not records:
            return acknowledged, []
        try:
            with closing(TopicWriter(self._access, CONFIGS, CLIENT_ID)) as writer:
                began = time.monotonic()
                for batch in _batches(records):
                    writer.write(batch)
                    acknowledged += len(batch)
                    if acknowledged < len(records):
                        time.sleep(max(0.0, began + acknowledged / RECORDS_PER_S - time.monotonic()))
        except (KafkaError, TimeoutError) as error:
            why = plain(str(error), 200) or type(error).__name__
            return acknowledged, [
                f"{len(records) - acknowledged:,} of {len(records):,} clients are not published, since Kafka has not acknowledged them "
                f"({why}): check the broker and repeat the command; a client that is published twice does no harm"
            ]
        return acknowledged, []

    def _left_out(self) -> Iterator[str]:
        if left_out := self.clients.left_out:
            yield f"{left_out:,} clients are not published, since a run publishes {MOST_RECORDS:,} and 256 MiB at most: give fewer logs"
        if too_large := self.clients.too_large:
            yield f"{too_large:,} clients are not published, since the record of each is larger than {MOST_RECORD_BYTES:,} bytes"


def _batches(records: Mapping[str, bytes]) -> Iterator[dict[str, bytes | None]]:
    every = list(records.items())
    for begin in range(0, len(every), _BATCH):
        yield dict(every[begin : begin + _BATCH])
