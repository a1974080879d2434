"""Settings of ``clientscope history``."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from clientscope.config.base import KafkaSettings, Settings

_HISTORY_DIR: Path = Field(
    Path("data/history"), description="where the streaming job keeps its Delta tables", json_schema_extra={"section": "stream"}
)


class HistoryMaintainSettings(Settings):
    """Compacts the tables, and lets old rows and unused files go; beside the running job, once a day say."""

    section = "history"
    subcommand = "maintain"
    history_dir: Path = _HISTORY_DIR
    retention_days: int = Field(400, ge=0, description="rows of earlier days go; 0 keeps all")


class HistoryEraseSettings(KafkaSettings):
    """Erases a client or a principal from the tables and from clientscope.configs, and counts anew (docs/history.md)."""

    section = "history"
    subcommand = "erase"
    history_dir: Path = _HISTORY_DIR
    client_id: str = Field("", description="everything of this client.id, exactly", json_schema_extra={"flag_only": True})
    principal: str = Field("", description="everything of this principal, such as User:alice", json_schema_extra={"flag_only": True})
    dry_run: bool = Field(False, description="only say what would go", json_schema_extra={"flag_only": True})
