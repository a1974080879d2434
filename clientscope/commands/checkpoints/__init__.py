"""The commands ``clientscope checkpoints list | reset``; none of them starts a JVM."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command, CommandGroup
from clientscope.config import KafkaSettings, ListingSettings
from clientscope.config.base import Option


class CheckpointsListSettings(ListingSettings, KafkaSettings):
    """Lists how far each query of the streaming job has read, where it began, and which versions wrote that."""

    section = "checkpoints"
    subcommand = "list"


def _list(settings: CheckpointsListSettings) -> int:
    """Prints a line for each partition of each query.

    Raises:
        EnvironmentProblem: no broker answers, or a topic is missing.
    """
    from dataclasses import asdict

    from clientscope import topics
    from clientscope.commands.checkpoints import table
    from clientscope.kafka.access import KafkaAccess
    from clientscope.kafka.admin import broker_errors
    from clientscope.model.topics import JOB
    from clientscope.report.listing import Listed, show
    from streaming.checkpoints import topics_now
    from streaming.checkpoints.job_topic import read_job
    from streaming.checkpoints.plans import PLANS

    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(JOB,))

    def look() -> Listed[table.CheckpointLine]:
        with broker_errors(kafka):
            state = read_job(kafka)
        extents = topics_now.ask(kafka, {topic for query in state.starts if query in PLANS for topic in PLANS[query].topics}).extents
        running = state.owner.process if state.owner and state.owner.running else ""
        return Listed(
            list(table.rows(state, extents)),
            row=asdict,
            name=lambda row: row.query,
            table=lambda found, wide: table.table(found, wide=wide),
            left_out=[f"run by {running}"] if running else [],
        )

    show(settings, table.FIELDS, look)
    return 0


class CheckpointsResetSettings(KafkaSettings):
    """Resets one query: it begins anew at a place of its topic, with a new checkpoint; a job that runs takes it within seconds."""

    section = "checkpoints"
    subcommand = "reset"
    query: Annotated[str, Option(positional=True)] = Field(
        description="live, history_pushes, history_connections or history_client_facts;\ncheckpoints/README.md describes what is repeated"
    )
    to_time: Annotated[str, Option(metavar="TIME", flag_only=True)] = Field(
        "", description="begin with the records of this time, in ISO 8601"
    )
    to_earliest: Annotated[bool, Option(flag_only=True)] = Field(False, description="begin with the topic's oldest record (the default)")


def _reset(settings: CheckpointsResetSettings) -> int:
    """Writes a new start of a query to the job's topic.

    Raises:
        SettingsError: an unknown query, or several places to begin.
        EnvironmentProblem: no broker answers, the job's topic is missing, or a right on it.
    """
    from clientscope import topics
    from clientscope.errors import SettingsError
    from clientscope.kafka.access import KafkaAccess
    from clientscope.kafka.admin import broker_errors
    from clientscope.model.topics import JOB
    from streaming.checkpoints import reset
    from streaming.checkpoints.topics_now import Offsets

    query = reset.known(settings.query)
    if settings.to_time and settings.to_earliest:
        raise SettingsError("--to-time and --to-earliest exclude each other", "give one of them")
    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(JOB,), writes=(JOB,))
    offsets: Offsets = reset.at_time(kafka, query, settings.to_time) if settings.to_time else {}
    with broker_errors(kafka):
        reset.reset(kafka, query, offsets)
    places = (f"offset {offset} of {topic}/{number}" for (topic, number), offset in sorted(offsets.items()))
    at = ", ".join(places) or "the beginning of what it reads"
    print(f"{query} begins anew at {at}: within seconds if the job runs, else with its next start")
    return 0


COMMAND = CommandGroup(
    "checkpoints",
    "Lists how far the streaming job's queries have read, and resets one.",
    (Command(CheckpointsListSettings, _list), Command(CheckpointsResetSettings, _reset)),
)
