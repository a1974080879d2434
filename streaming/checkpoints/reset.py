"""Reset of a query: a new start, which the job takes within seconds, or with its next start."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from clientscope.errors import SettingsError
from clientscope.kafka.access import Kafka
from clientscope.kafka.writer import TopicWriter
from clientscope.records.topics import JOB
from streaming.checkpoints import topics_now
from streaming.checkpoints.job_records import new_start
from streaming.checkpoints.plans import PLANS
from streaming.checkpoints.topics_now import EARLIEST, Extent, Offsets, from_json


def known(query: str) -> str:
    """The name of a query.

    Raises:
        SettingsError: there is no query of that name.
    """
    if query not in PLANS:
        raise SettingsError(f"there is no query {query!r}", f"there are {', '.join(PLANS)}")
    return query


def reset(kafka: Kafka, query: str, offsets: Offsets) -> None:
    """Gives a query a new start.

    Args:
        offsets: where it begins; what isn't named begins at its beginning.

    Raises:
        EnvironmentProblem: no broker answers.
        KafkaError: the start can't be written.
    """
    start = new_start(query, topics_now.ask(kafka, PLANS[query].topics).ids, offsets, "it was reset")
    with closing(TopicWriter(kafka, JOB, "clientscope-checkpoints")) as writer:
        writer.write({start.key: start.model_dump_json().encode()})


def at_offsets(kafka: Kafka, query: str, given: str) -> Offsets:
    """Offsets as a person gives them, checked against what the topics hold.

    Args:
        given: JSON, ``{"TOPIC": {"0": 42}}``, or ``{"0": 42}`` of a query that reads one topic, or the name of a file with that. A
            partition that isn't named begins at its beginning, and so does one at -2.

    Raises:
        SettingsError: it is something else, or names what isn't there.
        EnvironmentProblem: no broker answers.
    """
    topics = PLANS[query].topics
    example = f"give JSON, as in '{json.dumps({'0': 42} if len(topics) == 1 else {topic: {'0': 42} for topic in topics})}'"
    try:
        text = given if given.lstrip().startswith("{") else Path(given).read_text()
        found = json.loads(text)
        if len(topics) == 1 and isinstance(found, dict) and not any(isinstance(value, dict) for value in found.values()):
            text = json.dumps({topics[0]: found})
        offsets = from_json(text)
    except OSError as error:
        raise SettingsError(f"--to-offsets: {given}: {error.strerror}", f"{example}, or a file that holds it") from None
    except ValueError as error:
        raise SettingsError(f"--to-offsets: {error}", example) from None
    if others := offsets.keys() - set(topics):
        raise SettingsError(f"--to-offsets: {query} reads {' and '.join(topics)}, not {', '.join(sorted(others))}", example)
    extents = topics_now.ask(kafka, topics).extents
    return {topic: _checked(topic, of_topic, extents[topic]) for topic, of_topic in offsets.items()}


def _checked(topic: str, offsets: Mapping[int, int], extents: Mapping[int, Extent]) -> dict[int, int]:
    for number, offset in offsets.items():
        extent = extents.get(number)
        if extent is None:
            raise SettingsError(f"--to-offsets: {topic} has no partition {number}", f"it has {len(extents)}")
        if offset != EARLIEST and not extent.begin <= offset <= extent.end:
            raise SettingsError(
                f"--to-offsets: {topic}, partition {number}, holds offsets {extent.begin} to {extent.end - 1}, not {offset}",
                "what is gone can't be read again; --to-earliest begins where it begins now",
            )
    return {number: offset for number, offset in offsets.items() if offset != EARLIEST}


def at_time(kafka: Kafka, query: str, given: str) -> Offsets:
    """Where the records of a time, and later ones, are.

    Args:
        given: ISO 8601; without an offset from UTC it is UTC.

    Raises:
        SettingsError: it is no time.
        EnvironmentProblem: no broker answers.
    """
    try:
        time = datetime.fromisoformat(given)
    except ValueError:
        raise SettingsError(f"--to-time: {given!r} is no time", "ISO 8601 is, as in 2026-01-02T03:04:05Z") from None
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time
    return topics_now.at_time(kafka, topics_now.ask(kafka, PLANS[query].topics).extents, int(time.timestamp() * 1000))
