"""Reset of a query: a new start, which the job takes within seconds, or with its next start."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime

from clientscope.errors import SettingsError
from clientscope.kafka.access import Kafka
from clientscope.kafka.writer import TopicWriter
from clientscope.model.codec import encode_whole
from clientscope.model.topics import JOB
from streaming.checkpoints import topics_now
from streaming.checkpoints.job_records import new_start
from streaming.checkpoints.plans import PLANS
from streaming.checkpoints.topics_now import Offsets


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
        writer.write({start.key: encode_whole(start)})


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
