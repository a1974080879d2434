"""The command ``clientscope checkpoints reset``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import KafkaSettings
from clientscope.config.base import CheckpointDir
from clientscope.config.option import Option


class CheckpointsResetSettings(KafkaSettings):
    """Resets one query: moves its checkpoint aside, never deletes it, and sets where the job's next start begins."""

    section = "checkpoints"
    subcommand = "reset"
    query: Annotated[str, Option(positional=True)] = Field(
        description="gauges, results, history_pushes, history_connections or history_client_facts;\n"
        "checkpoints/README.md describes what is repeated"
    )
    checkpoint_dir: CheckpointDir
    to_offsets: Annotated[str, Option(metavar="JSON|FILE", flag_only=True)] = Field(
        "",
        description="""begin at these offsets: JSON, as in '{"0": 42}' (partition and offset), or a file that holds it;\n"""
        "a partition that isn't named begins at its beginning",
    )
    to_time: Annotated[str, Option(metavar="TIME", flag_only=True)] = Field(
        "", description="begin with the records of this time, in ISO 8601"
    )
    to_earliest: Annotated[bool, Option(flag_only=True)] = Field(False, description="begin with the topic's oldest record (the default)")


def run(settings: CheckpointsResetSettings) -> int:
    """Moves a query's checkpoint aside.

    Raises:
        SettingsError: an unknown query, or several places to begin.
        ClientscopeError: what `streaming.checkpoints.reset` says.
    """
    from datetime import UTC, datetime

    from clientscope.errors import SettingsError
    from clientscope.kafka.access import KafkaAccess
    from streaming.checkpoints import reset
    from streaming.checkpoints.offsets import to_json

    query = reset.known(settings.query)
    if sum((bool(settings.to_offsets), bool(settings.to_time), settings.to_earliest)) > 1:
        raise SettingsError("--to-offsets, --to-time and --to-earliest exclude each other", "give one of them")
    offsets = None
    if settings.to_offsets:
        offsets = reset.at_offsets(KafkaAccess.of(settings), query, settings.to_offsets)
    elif settings.to_time:
        offsets = reset.at_time(KafkaAccess.of(settings), query, settings.to_time)
    for path in reset.reset(settings.checkpoint_dir, query, offsets, datetime.now(UTC)):
        print(f"moved aside: {path}")
    print(f"{query} will begin at {to_json(offsets) if offsets else 'the beginning of its topic'}")
    return 0


COMMAND = Command(CheckpointsResetSettings, run)
