"""Publication of found clients (``--publish``): their records to ``clientscope.configs``, acknowledged, at a bounded rate."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

from kafka.errors import KafkaError

from clientscope import topics
from clientscope.clock import now_ms
from clientscope.cluster.api_versions import ask
from clientscope.commands.imports.logged_starts import LoggedStarts
from clientscope.commands.lint.shown import plain
from clientscope.config import PublishingSettings
from clientscope.digest import DigestKey
from clientscope.errors import EnvironmentProblem
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.writer import TopicWriter
from clientscope.policy.found_clients import MOST_RECORD_BYTES, MOST_RECORDS, FoundClients
from clientscope.records.topics import CONFIGS, CONNECTIONS

if TYPE_CHECKING:
    from clientscope.commands.imports.joining import RecordedClient
    from clientscope.commands.imports.live_clients import LiveClientReader

CLIENT_ID = "clientscope-import"
RECORDS_PER_S = 1_000
"""As many pushes a gateway takes by default (``push_rate``)."""

_BATCH = 200


class Publishing:
    """The records of one run, and where they go.

    Attributes:
        clients: takes what the run finds, until `send`.
    """

    def __init__(self, settings: PublishingSettings) -> None:
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

    def send(self, starts: LoggedStarts | None = None) -> list[str]:
        """Writes all records, and says on standard error how many; returns what failed, one sentence each.

        Args:
            starts: when logged clients started: those that are certainly live clients are published as these.
        """
        joined = self._join(starts) if starts is not None and starts.client_ids else ""
        failed = self.write(self.clients.take(), joined)
        return [*failed, *self._left_out()]

    def live_clients(self, wanted: Callable[[str], bool]) -> LiveClientReader:
        """A reader of the live clients, by clientscope's topics.

        Raises:
            KafkaError, TimeoutError, EnvironmentProblem: no broker answers, or a right is missing.
        """
        from clientscope.commands.imports.live_clients import LiveClientReader  # reads with Arrow

        topics.verify(self._access, reads=[CONNECTIONS, CONFIGS])
        return LiveClientReader(self._access, CLIENT_ID, wanted)

    def belong(self, found: Mapping[str, RecordedClient]) -> dict[str, str]:
        """Publishes these as the live clients that they are; key of a record → its key now."""
        return {
            key: self.clients.belongs_to(key, of.identity.address, of.broker_id, of.listener, of.security_protocol)
            for key, of in found.items()
        }

    def write(self, records: dict[str, bytes | None], joined: str = "") -> list[str]:
        """Writes records, and says on standard error how many; returns what failed, one sentence each. That is held again."""
        acknowledged, failed = self._write(records)
        clients = "1 client" if acknowledged == 1 else f"{acknowledged:,} clients"
        print(f"published {clients} to {CONFIGS}{joined}", file=sys.stderr, flush=True)
        return failed

    def _join(self, starts: LoggedStarts) -> str:
        """Finds the live clients, and says how many."""
        try:
            with self.live_clients(starts.client_ids.__contains__) as live:
                found = starts.joined(live.refresh())
        except (KafkaError, TimeoutError, EnvironmentProblem) as error:
            return f"; none as a client that is connected, since {why(error)}"
        self.belong(found)
        return f", {len(found):,} of them as clients that are connected"

    def _write(self, records: dict[str, bytes | None]) -> tuple[int, list[str]]:
        acknowledged = written = 0
        clients = sum(value is not None for value in records.values())
        if not records:
            return acknowledged, []
        try:
            with closing(TopicWriter(self._access, CONFIGS, CLIENT_ID)) as writer:
                began = time.monotonic()
                for batch in _batches(records):
                    writer.write(batch)
                    written += len(batch)
                    acknowledged += sum(value is not None for value in batch.values())
                    if written < len(records):
                        time.sleep(max(0.0, began + written / RECORDS_PER_S - time.monotonic()))
        except (KafkaError, TimeoutError) as error:
            self.clients.put_back(dict(islice(records.items(), written, None)))
            missing = clients - acknowledged
            return acknowledged, [
                f"{missing:,} of {clients:,} clients are not published, since Kafka has not acknowledged them ({why(error)}): "
                "check the broker and repeat the command; a client that is published twice does no harm"
            ]
        return acknowledged, []

    def _left_out(self) -> Iterator[str]:
        if left_out := self.clients.left_out:
            yield f"{left_out:,} clients are not published, since a run publishes {MOST_RECORDS:,} and 256 MiB at most: give fewer logs"
        if too_large := self.clients.too_large:
            yield f"{too_large:,} clients are not published, since the record of each is larger than {MOST_RECORD_BYTES:,} bytes"


def why(error: BaseException) -> str:
    """An error in a sentence."""
    return plain(str(error), 200) or type(error).__name__


def _batches(records: dict[str, bytes | None]) -> Iterator[dict[str, bytes | None]]:
    every = list(records.items())
    for begin in range(0, len(every), _BATCH):
        yield dict(every[begin : begin + _BATCH])
