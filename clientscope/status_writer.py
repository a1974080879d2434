"""Writer of a process's status on ``clientscope.status``: a thread that writes every few seconds, and at once after a change."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from kafka.errors import KafkaError

from clientscope.background import Background
from clientscope.kafka.access import Kafka
from clientscope.kafka.writer import TopicWriter
from clientscope.model.codec import encode_whole
from clientscope.model.status import ProcessStatus
from clientscope.model.topics import STATUS

log = logging.getLogger(__name__)

INTERVAL_S = 5.0
_LOOK_S = 1.0


class StatusWriter(Background):
    """Writes what ``statuses`` returns until `stop`, and then that all of it has stopped.

    A status that Kafka doesn't take is replaced by the next one, a moment later. Only `stop` waits for a write.

    Args:
        tell: returns the current status of all that this process reports; called in the writer's thread, every second.
    """

    def __init__(self, kafka: Kafka, client_id: str, statuses: Callable[[], Iterable[ProcessStatus]]) -> None:
        super().__init__("status")
        self._kafka, self._client_id, self._statuses = kafka, client_id, statuses
        self._writer: TopicWriter | None = None
        self._failing = False

    def _run(self) -> None:
        written: Sequence[tuple[str, str, str]] = ()
        written_s = -INTERVAL_S
        while True:
            stopping = self._stopping.is_set()
            now = list(self._statuses())
            if stopping:
                now = [replace(each, condition="stopped", reason="") for each in now]
            conditions = tuple((each.id, each.condition, each.reason) for each in now)
            if (stopping or conditions != written or time.monotonic() - written_s >= INTERVAL_S) and self._write(now):
                written, written_s = conditions, time.monotonic()
            if stopping:
                break
            self._stopping.wait(_LOOK_S)
        if self._writer is not None:
            self._writer.close()

    def _write(self, statuses: Iterable[ProcessStatus]) -> bool:
        try:
            if self._writer is None:
                self._writer = TopicWriter(self._kafka, STATUS, self._client_id)
            self._writer.write({each.key.decode(): encode_whole(each) for each in statuses})
        except (KafkaError, TimeoutError, OSError) as error:
            if not self._failing:
                log.warning("the status of this process can't be written to %s, and is retried: %s", STATUS, type(error).__name__)
            self._failing = True
            return False
        self._failing = False
        return True
