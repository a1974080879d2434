"""The command ``clientscope history maintain``."""

from __future__ import annotations

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import Settings
from clientscope.config.base import HistoryDir


class HistoryMaintainSettings(Settings):
    """Compacts the tables, and deletes old rows and unused files; safe beside the running job, for example once a day."""

    section = "history"
    subcommand = "maintain"
    history_dir: HistoryDir
    retention_days: int = Field(400, ge=0, description="days after which rows are deleted; 0 keeps all")


def run(settings: HistoryMaintainSettings) -> int:
    """Maintains every table, and prints what was done.

    Raises:
        EnvironmentProblem: there is no table, or one can't be read.
    """
    from datetime import UTC, datetime

    from rich.console import Console
    from rich.table import Table

    from clientscope.report.listing import console
    from sinks.history.maintain import maintain
    from sinks.history.tables import tables

    view = Table(header_style="bold", box=None, pad_edge=False)
    for heading in ("TABLE", "ROWS", "FILES", "MIB", "EXPIRED ROWS", "COMPACTED FILES", "REMOVED FILES"):
        view.add_column(heading, justify="left" if heading == "TABLE" else "right", no_wrap=True)
    for name in tables(settings.history_dir):
        done = maintain(f"{settings.history_dir}/{name}", datetime.now(UTC).date(), settings.retention_days)
        figures = (done.rows, done.files, done.size_bytes // 2**20, done.expired, done.compacted, done.removed)
        view.add_row(name, *(f"{figure:,}" for figure in figures))
    console(Console(), view).print(view)
    return 0


COMMAND = Command(HistoryMaintainSettings, run)
