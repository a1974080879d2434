"""Dead letters: messages whose delivery was given up, read from the topics."""

from __future__ import annotations

from collections.abc import Iterable

from clientscope.errors import RecordError
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.compacted import read_compacted
from clientscope.records.topics import DEADLETTER, DELIVERIES
from clientscope.topic_values import parse
from sinks.alerts.progress import DeadLetter, LastDelivery, kind_of

_CLIENT_ID = "clientscope-deliver"


def letters(kafka: KafkaAccess) -> list[DeadLetter]:
    """Dead letters that were not delivered since, the newest first."""
    letters = _parsed(read_compacted(kafka, DEADLETTER, _CLIENT_ID).values())
    dead = set()
    for key, value in read_compacted(kafka, DELIVERIES, _CLIENT_ID).items():
        if kind_of(key) == "told":
            delivery = parse(LastDelivery, value)
            if delivery.status == "dead":
                dead.add(delivery.message_id)
    return sorted((letter for letter in letters if letter.id in dead), key=lambda letter: -letter.at_ms)


def _parsed(values: Iterable[bytes]) -> list[DeadLetter]:
    found = []
    for value in values:
        try:
            found.append(parse(DeadLetter, value))
        except RecordError:
            continue  # the topic may have others' records
    return found
