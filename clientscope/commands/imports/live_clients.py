"""Live clients, by clientscope's own topics: what connections' records show, and who pushes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import pyarrow as pa

from clientscope.clock import now_ms
from clientscope.commands.imports.joining import RecordedClients
from clientscope.errors import RecordError
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.reader import TopicReader
from clientscope.records.layouts import Origin
from clientscope.records.principals import authenticated
from clientscope.records.topics import CONFIGS, CONNECTIONS
from sinks.dashboard.state.connection_events import events
from udfs.decoding.decode import decoder
from udfs.redaction.names import redact_names

MOST_PUSHES = 200_000
"""As many as serve keeps; beyond it nothing is certain."""

_NAMES = ("cluster_id", "principal", "client_id", "client_address")
_NEEDED = frozenset({*_NAMES, "origin", "security_protocol"})


class LiveClientReader:
    """Reads both topics from their beginnings, and then what comes; a context manager that ends it. For one thread.

    Attributes:
        seen: what the records show.
    """

    def __init__(self, access: KafkaAccess, client_id: str, wanted: Callable[[str], bool]) -> None:
        """
        Args:
            wanted: which client.ids are looked for.

        Raises:
            KafkaError, TimeoutError: no broker answers.
        """
        self.seen = RecordedClients(wanted)
        self._wanted = wanted
        self._pushes: set[tuple[Any, ...]] = set()
        self._reader = TopicReader(access, client_id)
        self._begun = False

    def refresh(self) -> RecordedClients:
        """What is seen by the topics' ends as they are now.

        Raises:
            KafkaError, TimeoutError: an end was not reached.
        """
        if self._begun:
            self._reader.extend()
        else:
            self._reader.seek(self._reader.ranges(CONNECTIONS, CONFIGS))
            self._begun = True
        for batches in self._reader.read():
            for partition, batch in batches.items():
                values = [record.value for record in batch if record.value is not None]
                (self._connections if partition.topic == CONNECTIONS else self._configs)(values)
        self.seen.silent(now_ms())
        for identity, client in self.seen.clients.items():
            client.pushed = identity[:4] in self._pushes
        return self.seen

    def _connections(self, values: Sequence[bytes]) -> None:
        for event in events(values) if values else ():
            if not isinstance(event, RecordError):
                self.seen.apply(event)

    def _configs(self, values: Sequence[bytes]) -> None:
        if not values:
            return
        decoded = redact_names(decoder("ClientConfigRecord", _NEEDED)(pa.array(values, pa.large_binary())), None)
        columns = (decoded.field(name).to_pylist() for name in (*_NAMES, "origin", "decode_error"))
        for cluster, principal, client_id, address, origin, error in zip(*columns, strict=True):
            if error is None and origin == Origin.PUSHED and client_id and self._wanted(client_id):
                self._pushes.add((cluster, authenticated(principal), client_id, address))
        self.seen.too_many |= len(self._pushes) > MOST_PUSHES

    def __enter__(self) -> LiveClientReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._reader.close()
