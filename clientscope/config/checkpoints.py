"""Settings of ``clientscope checkpoints``."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from clientscope.config.base import CHECKPOINT_DIR, KafkaSettings, ListingSettings, Settings, kafka_key
from clientscope.config_types import Addresses


class CheckpointsVerifySettings(Settings):
    """Checks that checkpoints are whole; asks no broker."""

    section = "checkpoints"
    subcommand = "verify"
    checkpoint_dir: Path = CHECKPOINT_DIR


class CheckpointsListSettings(ListingSettings, KafkaSettings):
    """Lists how far each query is, and what wrote its checkpoint."""

    section = "checkpoints"
    subcommand = "list"
    checkpoint_dir: Path = CHECKPOINT_DIR
    bootstrap_servers: Addresses = Field(
        "",
        description="with it, how many records each query is behind its topic's end",
        json_schema_extra=kafka_key("bootstrap.servers"),
    )


class CheckpointsBackupSettings(Settings):
    """Copies all checkpoints while no job runs, and verifies the copy."""

    section = "checkpoints"
    subcommand = "backup"
    checkpoint_dir: Path = CHECKPOINT_DIR
    dir: Path = Field(description="where to: a directory that is new, or empty", json_schema_extra={"positional": True})


class CheckpointsResetSettings(KafkaSettings):
    """Starts one query anew: moves its checkpoint aside, never deletes it, and says where the job's next start begins."""

    section = "checkpoints"
    subcommand = "reset"
    query: str = Field(
        description="gauges, results, history_pushes or history_connections; see checkpoints/README.md on what is repeated",
        json_schema_extra={"positional": True},
    )
    checkpoint_dir: Path = CHECKPOINT_DIR
    to_offsets: str = Field(
        "",
        description="""begin there: JSON, as in '{"0": 42}' (partition and offset), or a file that holds it;\n"""
        "a partition that isn't named begins at its beginning",
        json_schema_extra={"metavar": "JSON|FILE", "flag_only": True},
    )
    to_time: str = Field(
        "", description="begin with the records of this time, ISO 8601", json_schema_extra={"metavar": "TIME", "flag_only": True}
    )
    to_earliest: bool = Field(False, description="begin with all that the topic holds; the default", json_schema_extra={"flag_only": True})
