"""Epoch of a gateway's process: its start time, always above that of the previous process.

Readers take the process with the largest epoch for the newest.  A clock that was set back between two starts would make the new one look
older, and all it says would be ignored; so the last epoch is read from where readers have it from.
"""

from __future__ import annotations

import logging
import time
from contextlib import closing

from kafka.errors import KafkaError

from clientscope.errors import RecordError
from clientscope.kafka.access import Kafka
from clientscope.kafka.reader import OffsetRange, TopicReader
from clientscope.kafka.writer import partition_of
from clientscope.records.codec import decode
from clientscope.records.connection_record import ClientConnectionRecord
from clientscope.records.topics import CONNECTIONS

log = logging.getLogger(__name__)

PATIENCE_S = 3.0
_LARGEST = 2**63 - 1
_STEPS = (100, 1_000, 10_000)
"""Numbers of the partition's last records to search for one of this gateway, which writes one each heartbeat."""


def next_epoch(kafka: Kafka, gateway_id: str, now_ms: int, patience_s: float = PATIENCE_S) -> int:
    """The time, or one more than this gateway's last epoch where that is later.

    Never fails, and lasts ``patience_s`` at most: where Kafka doesn't tell in time it is the time, which the log then says.
    """
    try:
        last = _last_epoch(kafka, gateway_id, time.monotonic() + patience_s)
    except (KafkaError, OSError, TimeoutError) as error:
        log.warning("the epoch of this gateway's last process can't be read (%s); its own clock must do", type(error).__name__)
        return now_ms
    if last is None or last < now_ms:
        return now_ms
    if last >= _LARGEST:
        log.error("%s has a record under this gateway's id whose epoch is the largest there is: its gauges will be ignored", CONNECTIONS)
        return now_ms
    log.warning("this machine's clock is %.0f s behind the last start of this gateway; is it right?", (last - now_ms) / 1000)
    return last + 1


def _last_epoch(kafka: Kafka, gateway_id: str, deadline: float) -> int | None:
    """The largest among this gateway's last records, or None if there are none.

    Raises:
        KafkaError, TimeoutError: it could not be read in time.
    """
    key = gateway_id.encode()
    reader = TopicReader(kafka, "clientscope-gateway-start", silence_s=deadline - time.monotonic(), wait_ms=100)
    with closing(reader):
        ranges = reader.ranges(CONNECTIONS, until=deadline)
        if not ranges:
            return None
        # Once partitions were added, older records are elsewhere, and too old to matter.
        number = partition_of(key, sorted(partition.partition for partition in ranges))
        (partition,) = (each for each in ranges if each.partition == number)
        begin, end = ranges[partition]
        for step in _STEPS:
            first = max(begin, end - step)
            reader.seek({partition: OffsetRange(first, end)})
            records = (record for batches in reader.read(deadline) for record in batches.get(partition, ()))
            epochs = [_epoch(record.value) for record in records if record.key == key]
            if found := [epoch for epoch in epochs if epoch is not None]:
                return max(found)
            if first == begin:
                break
    return None


def _epoch(value: bytes | None) -> int | None:
    try:
        return decode(ClientConnectionRecord, value).gateway_epoch
    except RecordError:
        return None
