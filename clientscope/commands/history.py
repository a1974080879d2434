"""The commands ``clientscope history maintain | erase``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from clientscope.commands.command import Command, CommandGroup
from clientscope.config import KafkaSettings, Settings
from clientscope.config.base import HistoryDir, Option

if TYPE_CHECKING:
    from clientscope.kafka.access import KafkaAccess
    from sinks.history.erase import ErasureSubject


class HistoryMaintainSettings(Settings):
    """Compacts the tables, and deletes old rows and unused files; safe beside the running job, for example once a day."""

    section = "history"
    subcommand = "maintain"
    history_dir: HistoryDir
    retention_days: int = Field(400, ge=0, description="days after which rows are deleted; 0 keeps all")


def _maintain(settings: HistoryMaintainSettings) -> int:
    """Maintains every table, and prints what was done.

    Raises:
        EnvironmentProblem: there is no table, or one can't be read.
    """
    from datetime import UTC, datetime

    from clientscope.report.listing import print_view
    from clientscope.report.text import table
    from sinks.history.maintain import maintain
    from sinks.history.tables import tables

    numbers = ("ROWS", "FILES", "MIB", "EXPIRED ROWS", "COMPACTED FILES", "REMOVED FILES")
    view = table(("TABLE", *numbers), right=numbers)
    for name in tables(settings.history_dir):
        done = maintain(f"{settings.history_dir}/{name}", datetime.now(UTC).date(), settings.retention_days)
        figures = (done.rows, done.files, done.size_bytes // 2**20, done.expired, done.compacted, done.removed)
        view.add_row(name, *(f"{figure:,}" for figure in figures))
    print_view(view)
    return 0


class HistoryEraseSettings(KafkaSettings):
    """Erases a client or a principal from the tables and from clientscope.configs, and counts what is left (docs/history.md)."""

    section = "history"
    subcommand = "erase"
    history_dir: HistoryDir
    client_id: Annotated[str, Option(flag_only=True)] = Field("", description="erase everything of exactly this client.id")
    principal: Annotated[str, Option(flag_only=True)] = Field("", description="erase everything of this principal, such as User:alice")
    dry_run: Annotated[bool, Option(flag_only=True)] = Field(False, description="only print what would be erased")


def _erase(settings: HistoryEraseSettings) -> int:
    """Erases, and prints how much was erased and how much is left.

    Raises:
        EnvironmentProblem: there is no table, no broker, or no right to write tombstones.
        SettingsError: neither a client nor a principal is given.
        ClientscopeError: rows were added while they were erased; or the job has still to read what may be theirs.
    """

    from clientscope import topics
    from clientscope.errors import ClientscopeError, SettingsError
    from clientscope.kafka.access import KafkaAccess
    from clientscope.kafka.admin import broker_errors
    from clientscope.model.topics import CONFIGS
    from clientscope.report.text import counted
    from sinks.history.erase import ErasureSubject, erase_records, erase_rows
    from sinks.history.tables import tables

    subject = ErasureSubject(settings.client_id or None, settings.principal or None)
    if not subject.columns:
        raise SettingsError("--client-id or --principal is required", "with both, only what has both is erased")
    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(CONFIGS,), writes=() if settings.dry_run else (CONFIGS,))
    found = list(tables(settings.history_dir))
    with broker_errors(kafka):  # first, so that no query reads them once more into what is erased next
        records = erase_records(kafka, subject, dry_run=settings.dry_run)
        print(f"{CONFIGS}: {counted(records, 'record')} {'would be ' * settings.dry_run}replaced by tombstones", flush=True)
        behind = "" if settings.dry_run else _await_job(kafka, subject)
    for name in found:
        done = erase_rows(f"{settings.history_dir}/{name}", subject, dry_run=settings.dry_run)
        if done is None:
            continue
        rows = f"{name}: {counted(done.rows, 'row')}"
        if settings.dry_run:
            print(f"{rows} would be erased")
        else:
            print(f"{rows} erased, {done.files} files removed from disk; counted again: {done.left} left")
    if behind:
        raise ClientscopeError(
            f"{behind}: what is theirs may come to history anew",
            "stop the client, see that the job runs (its /readyz), then repeat the command",
        )
    return 0


def _await_job(kafka: KafkaAccess, subject: ErasureSubject) -> str:
    """Waits until the job has written to history what was on the topics by now; what it has still to write, in words."""
    from contextlib import closing

    from clientscope.kafka.compacted import Follower
    from clientscope.model.topics import FINDINGS, JOB
    from sinks.history.erase import await_findings
    from streaming.checkpoints import topics_now
    from streaming.checkpoints.job_records import JobState, await_read
    from streaming.checkpoints.plans import PLANS

    state = JobState()
    with closing(Follower(kafka, JOB, "clientscope-history")) as follower:

        def look() -> JobState:
            state.take(follower.read_to_end())
            return state

        look()
        history = {query: plan.topics for query, plan in PLANS.items() if plan.table and query in state.starts}
        if not history:
            print("no job has written history on this cluster: what it reads once it runs may come in anew")
            return ""
        extents = topics_now.ask(kafka, {topic for topics in history.values() for topic in topics}).extents
        of_each = {
            query: {place: extent for place, extent in extents.items() if place.topic in topics} for query, topics in history.items()
        }
        behind = await_read(look, of_each, lambda what: print(f"waiting for the job: {what}", flush=True))
        if not behind and state.owner and state.owner.running and not await_findings(kafka, subject):
            print(f"{FINDINGS} still has findings of their application: other clients have them, or these have pushed again")
    return behind


COMMAND = CommandGroup(
    "history",
    "Maintains the streaming job's history, which is in Delta tables.",
    (Command(HistoryMaintainSettings, _maintain), Command(HistoryEraseSettings, _erase)),
)
