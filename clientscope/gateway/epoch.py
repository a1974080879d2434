"""The epoch of a gateway's process: when it started, and always above that of its process before.

Readers take the process with the largest epoch for the newest.  A clock that was set back between two starts would make the new one look
older, and all it says would be ignored; so the last epoch is read from where readers have it from.
"""

from __future__ import annotations

import logging
import time
from contextlib import closing

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError
from kafka.partitioner.default import murmur2

from clientscope.errors import RecordError
from clientscope.kafka_access import Kafka, access
from clientscope.records.codec import ClientConnectionRecord, decode
from clientscope.records.topics import CONNECTIONS

log = logging.getLogger(__name__)

PATIENCE_S = 3.0
_LARGEST = 2**63 - 1
_STEPS = (100, 1_000, 10_000)
"""So many of the partition's last records are looked at, until one is this gateway's own: it writes one each heartbeat."""


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
    """The largest among this gateway's last records, or None where there is none among them.

    Raises:
        KafkaError, TimeoutError: it could not be read in time.
    """

    def left_ms() -> int:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return max(1, int(left * 1000))

    consumer = KafkaConsumer(
        **access(kafka).client_arguments(),
        client_id="clientscope-gateway-start",
        group_id=None,
        enable_auto_commit=False,
        bootstrap_timeout_ms=left_ms(),
        request_timeout_ms=left_ms(),
        fetch_max_wait_ms=100,
    )
    with closing(consumer):
        partitions = sorted(consumer.partitions_for_topic(CONNECTIONS) or ())
        if not partitions:
            return None
        key = gateway_id.encode()
        # As the publisher's producer chooses it; once partitions were added, older records are elsewhere, and too old to matter.
        partition = TopicPartition(CONNECTIONS, partitions[(murmur2(key) & 0x7FFFFFFF) % len(partitions)])
        consumer.assign([partition])
        end = consumer.end_offsets([partition], timeout_ms=left_ms())[partition]
        begin = consumer.beginning_offsets([partition], timeout_ms=left_ms())[partition]
        for step in _STEPS:
            start = max(begin, end - step)
            consumer.seek(partition, start)
            epochs = []
            while consumer.position(partition, timeout_ms=left_ms()) < end:
                for record in consumer.poll(timeout_ms=min(200, left_ms())).get(partition, ()):
                    if record.key == key:
                        epochs.append(_epoch(record.value))
            if found := [epoch for epoch in epochs if epoch is not None]:
                return max(found)
            if start == begin:
                break
    return None


def _epoch(value: bytes | None) -> int | None:
    try:
        return int(decode(ClientConnectionRecord, value or b"").gateway_epoch)
    except RecordError:
        return None
