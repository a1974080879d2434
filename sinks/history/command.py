"""``clientscope history maintain`` and ``erase``."""

from __future__ import annotations

from datetime import UTC, datetime

from kafka.errors import KafkaError
from rich.console import Console
from rich.table import Table

from clientscope import topics
from clientscope.config import HistoryEraseSettings, HistoryMaintainSettings
from clientscope.errors import SettingsError
from clientscope.kafka_access import KafkaAccess
from clientscope.records.topics import CONFIGS
from clientscope.report.listing import console
from sinks.history.erase import Whom, erase_records, erase_rows
from sinks.history.maintain import maintain
from sinks.history.tables import tables


def run_maintain(settings: HistoryMaintainSettings) -> None:
    """Looks after every table, and prints what was done.

    Raises:
        EnvironmentProblem: there is no table, or one can't be read.
    """
    view = Table(header_style="bold", box=None, pad_edge=False)
    for heading in ("TABLE", "ROWS", "FILES", "MIB", "EXPIRED ROWS", "COMPACTED FILES", "REMOVED FILES"):
        view.add_column(heading, justify="left" if heading == "TABLE" else "right", no_wrap=True)
    for name in tables(settings.history_dir):
        done = maintain(settings.history_dir / name, datetime.now(UTC).date(), settings.retention_days)
        figures = (done.rows, done.files, done.size_bytes // 2**20, done.expired, done.compacted, done.removed)
        view.add_row(name, *(f"{figure:,}" for figure in figures))
    console(Console(), view).print(view)


def run_erase(settings: HistoryEraseSettings) -> None:
    """Erases, and prints what went and what was counted afterwards.

    Raises:
        EnvironmentProblem: there is no table, no broker, or no right to write tombstones.
        SettingsError: nobody is named.
        ClientscopeError: rows came in while they were erased.
    """
    whom = Whom(settings.client_id or None, settings.principal or None)
    if not whom.columns:
        raise SettingsError("nobody is named", "--client-id, --principal, or both: then only what has both")
    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(CONFIGS,), writes=() if settings.dry_run else (CONFIGS,))
    found = list(tables(settings.history_dir))
    try:  # first, so that no query reads them once more into what is erased next
        records = erase_records(kafka, whom, dry_run=settings.dry_run)
    except (KafkaError, TimeoutError) as error:
        raise topics.no_broker(kafka, error) from None
    print(f"{CONFIGS}: {records} record{'s' * (records != 1)} {'would be ' * settings.dry_run}replaced by tombstones")
    for name in found:
        done = erase_rows(settings.history_dir / name, whom, dry_run=settings.dry_run)
        if done is None:
            continue
        rows = f"{name}: {done.rows} row{'s' * (done.rows != 1)}"
        if settings.dry_run:
            print(f"{rows} would be erased")
        else:
            print(f"{rows} erased, {done.files} files removed from disk; counted again: {done.left} left")
