"""``clientscope history erase``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import KafkaSettings
from clientscope.config.base import HistoryDir
from clientscope.config.option import Option


class HistoryEraseSettings(KafkaSettings):
    """Erases a client or a principal from the tables and from clientscope.configs, and counts what is left (docs/history.md)."""

    section = "history"
    subcommand = "erase"
    history_dir: HistoryDir
    client_id: Annotated[str, Option(flag_only=True)] = Field("", description="erase everything of exactly this client.id")
    principal: Annotated[str, Option(flag_only=True)] = Field("", description="erase everything of this principal, such as User:alice")
    dry_run: Annotated[bool, Option(flag_only=True)] = Field(False, description="only print what would be erased")


def run(settings: HistoryEraseSettings) -> int:
    """Erases, and prints how much was erased and how much is left.

    Raises:
        EnvironmentProblem: there is no table, no broker, or no right to write tombstones.
        SettingsError: neither a client nor a principal is given.
        ClientscopeError: rows were added while they were erased.
    """
    from kafka.errors import KafkaError

    from clientscope import topics
    from clientscope.errors import SettingsError
    from clientscope.kafka.access import KafkaAccess
    from clientscope.kafka.admin import no_broker
    from clientscope.records.topics import CONFIGS
    from sinks.history.erase import ErasureSubject, erase_records, erase_rows
    from sinks.history.tables import tables

    whom = ErasureSubject(settings.client_id or None, settings.principal or None)
    if not whom.columns:
        raise SettingsError("--client-id or --principal is required", "with both, only what has both is erased")
    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(CONFIGS,), writes=() if settings.dry_run else (CONFIGS,))
    found = list(tables(settings.history_dir))
    try:  # first, so that no query reads them once more into what is erased next
        records = erase_records(kafka, whom, dry_run=settings.dry_run)
    except (KafkaError, TimeoutError) as error:
        raise no_broker(kafka, error) from None
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
    return 0


COMMAND = Command(HistoryEraseSettings, run)
