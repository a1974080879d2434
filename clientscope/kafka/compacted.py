"""Reader of compacted topics: the newest value of each key, up to the end or continuously."""

from __future__ import annotations

from contextlib import closing

from clientscope.kafka.access import Kafka
from clientscope.kafka.latest import LatestByKey, by_time
from clientscope.kafka.reader import Batches, TopicReader

_AT_ONCE = 5_000


class Follower:
    """Reads a compacted topic from its beginning, and then what comes, also in partitions that it gets later. For one thread at a time.

    Kafka's errors pass through; the next call continues where the reader was.

    Attributes:
        newest_ms: Kafka's time of the newest record that was read; None before the first.
    """

    def __init__(self, kafka: Kafka, topic: str, client_id: str = "clientscope-stream") -> None:
        self._topic = topic
        self._reader = TopicReader(kafka, client_id)
        self._begun = False
        self._latest = LatestByKey(())
        self.newest_ms: int | None = None

    def read_to_end(self) -> dict[str, bytes | None]:
        """The newest value of each key since the last call, up to where the topic ends now, None for tombstones.

        Raises:
            KafkaError, TimeoutError: the end was not reached.
        """
        if self._begun:
            self._reader.extend()
        else:
            self._begin()
        found: dict[str, bytes | None] = {}
        for batches in self._reader.read():
            self._take(found, batches)
        return found

    def news(self) -> dict[str, bytes | None]:
        """The newest value of each key since the last call, some 5,000 at once; nothing where there is nothing yet."""
        if not self._begun:
            self._begin()
        found: dict[str, bytes | None] = {}
        while len(found) < _AT_ONCE and (batches := self._reader.poll()):
            self._take(found, batches)
        return found

    @property
    def has_begun(self) -> bool:
        """Whether the topic was there when it was read."""
        return self._begun

    def has_caught_up(self) -> bool:
        """Whether all has been read that there was when reading began."""
        return self._reader.has_caught_up()

    def close(self) -> None:
        """Ends it."""
        self._reader.close()

    def _begin(self) -> None:
        ranges = self._reader.ranges(self._topic)
        self._reader.seek(ranges, growing=True)
        self._latest = LatestByKey(ranges)
        self._begun = bool(ranges)

    def _take(self, found: dict[str, bytes | None], batches: Batches) -> None:
        for record in by_time(batches):
            self.newest_ms = max(self.newest_ms or 0, record.timestamp)
            if record.key is not None and self._latest.is_latest(record):
                key = record.key.decode("utf-8", "replace")
                found.pop(key, None)  # the order is that of the newest records
                found[key] = record.value


def read_compacted(kafka: Kafka, topic: str, client_id: str = "clientscope-stream") -> dict[str, bytes]:
    """The newest value of each key, from the beginning of a topic to where it ends now; tombstones leave nothing.

    Raises:
        KafkaError, TimeoutError: the end was not reached.
    """
    with closing(Follower(kafka, topic, client_id)) as follower:
        return {key: value for key, value in follower.read_to_end().items() if value is not None}
