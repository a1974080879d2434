"""The command ``clientscope checkpoints list``."""

from __future__ import annotations

from clientscope.commands.command import Command
from clientscope.config import KafkaSettings, ListingSettings


class CheckpointsListSettings(ListingSettings, KafkaSettings):
    """Lists how far each query of the streaming job has read, where it began, and which versions wrote that."""

    section = "checkpoints"
    subcommand = "list"


def run(settings: CheckpointsListSettings) -> int:
    """Prints a line for each partition of each query.

    Raises:
        EnvironmentProblem: no broker answers, or a topic is missing.
    """
    from dataclasses import asdict

    from kafka.errors import KafkaError

    from clientscope import topics
    from clientscope.commands.checkpoints import table
    from clientscope.kafka.access import KafkaAccess
    from clientscope.kafka.admin import no_broker
    from clientscope.records.topics import JOB
    from clientscope.report.listing import Listed, show
    from streaming.checkpoints import broker
    from streaming.checkpoints.job_topic import read_job
    from streaming.checkpoints.plans import PLANS

    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(JOB,))

    def look() -> Listed[table.CheckpointLine]:
        try:
            state = read_job(kafka)
        except (KafkaError, TimeoutError) as error:
            raise no_broker(kafka, error) from None
        extents = broker.ask(kafka, {PLANS[query].topic for query in state.starts if query in PLANS}).extents
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


COMMAND = Command(CheckpointsListSettings, run)
