"""The command ``clientscope checkpoints list``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import KafkaSettings, ListingSettings
from clientscope.config.base import CheckpointDir
from clientscope.config.option import Option
from clientscope.config_types import Addresses


class CheckpointsListSettings(ListingSettings, KafkaSettings):
    """Lists the progress of each query, and the versions that wrote its checkpoint."""

    section = "checkpoints"
    subcommand = "list"
    checkpoint_dir: CheckpointDir
    bootstrap_servers: Annotated[Addresses, Option(section="kafka", key="bootstrap.servers")] = Field(
        "", description="listener INTERNAL of the cluster, to also list how many records each query is behind"
    )


def run(settings: CheckpointsListSettings) -> int:
    """Prints a line for each partition of each query.

    Raises:
        EnvironmentProblem: bootstrap servers are given, and no broker answers.
    """
    from dataclasses import asdict

    from clientscope.commands.checkpoints import table
    from clientscope.kafka.access import KafkaAccess
    from clientscope.report.listing import Listed, show
    from clientscope.stores.trees import size_bytes
    from streaming.checkpoints import broker, lock, reset
    from streaming.checkpoints.offsets import Extents
    from streaming.checkpoints.plans import PLANS, folder

    def look() -> Listed[table.CheckpointLine]:
        extents: Extents = {}
        if settings.bootstrap_servers:
            extents = broker.ask(
                KafkaAccess.of(settings), {plan.topic for query, plan in PLANS.items() if folder(settings.checkpoint_dir, query).is_dir()}
            ).extents
        running = lock.holder(settings.checkpoint_dir)
        aside = [path for query in PLANS for path in reset.aside(settings.checkpoint_dir, query)]
        return Listed(
            list(table.rows(settings.checkpoint_dir, extents)),
            row=asdict,
            name=lambda row: row.query,
            table=lambda found, wide: table.table(found, asked=bool(settings.bootstrap_servers), wide=wide),
            left_out=[
                *([f"in use by {running}"] if running else []),
                *(f"moved aside: {path}, {table.size(size_bytes(path))}; unused" for path in aside),
            ],
        )

    show(settings, table.FIELDS, look)
    return 0


COMMAND = Command(CheckpointsListSettings, run)
