"""Erasure of a client or a principal from history and topics with long retention, with proof (F35): ``clientscope history erase``."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from dataclasses import dataclass

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import CommitFailedError

from clientscope.errors import ClientscopeError, RecordError
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.compacted import Follower, LatestByKey, by_time, clear_old_places
from clientscope.kafka.reader import TopicReader
from clientscope.kafka.writer import TopicWriter
from clientscope.model.client import Application
from clientscope.model.codec import decode
from clientscope.model.finding import Finding
from clientscope.model.push import Push
from clientscope.model.topics import CONFIGS, FINDINGS
from sinks.history.tables import committed, opened, remove_unused

_CLIENT_ID = "clientscope-history"
_PATIENCE_S, _LOOK_S = 30.0, 0.5


@dataclass(frozen=True)
class ErasureSubject:
    """Whose rows and records go: everything of this client.id, or of this principal, exactly as written; both where both are named."""

    client_id: str | None = None
    principal: str | None = None

    @property
    def columns(self) -> dict[str, str]:
        """What is looked for, by column."""
        named = {"client_id": self.client_id, "principal": self.principal}
        return {column: value for column, value in named.items() if value is not None}

    def predicate(self) -> str:
        """The condition in SQL, with values quoted."""
        return " AND ".join(f"{column} = '{value.replace(chr(39), chr(39) * 2)}'" for column, value in self.columns.items())

    def is_of(self, named: Push | Application) -> bool:
        """Whether a pushed configuration, or an application, is theirs."""
        return all(getattr(named, column) == value for column, value in self.columns.items())


@dataclass(frozen=True)
class Erased:
    """What was done to a table: rows that went, files that went from the disk, and rows that are left, counted anew."""

    rows: int
    files: int
    left: int


def erase_rows(folder: str, subject: ErasureSubject, *, dry_run: bool = False) -> Erased | None:
    """Takes the rows out of a table, and off the disk; None for a table that names no clients.

    The job may run meanwhile; later pushes of the client are stored again.

    Raises:
        ClientscopeError: rows are left; do it again.
    """
    table = opened(folder)
    if not subject.columns.keys() <= {field.name for field in table.schema().fields}:
        return None
    rows = _count(table, subject)
    if dry_run:
        return Erased(rows, 0, rows)
    if rows:
        with suppress(CommitFailedError):  # batches came in between each time: what is left is counted
            _delete(table, subject)
    removed = remove_unused(folder, table)  # also what a compaction has left of them
    left = _count(opened(folder), subject)
    if left:
        name = folder.rpartition("/")[2]
        raise ClientscopeError(
            f"{left} rows are in {name} still, or again", "the client is still connected: stop it, then repeat the command"
        )
    return Erased(rows, len(removed), left)


def erase_records(kafka: KafkaAccess, subject: ErasureSubject, *, dry_run: bool = False) -> int:
    """Writes a tombstone for each of their records on ``clientscope.configs``, which compaction then takes away; how many.

    The job follows: findings about no other client end. Other topics lose their records by age alone.

    Raises:
        KafkaError, TimeoutError: the topic can't be read to its end, or a tombstone was not acknowledged.
    """
    theirs, left = _keys(kafka, subject)
    if not dry_run:
        if left:
            with closing(TopicWriter(kafka, CONFIGS, _CLIENT_ID)) as writer:
                writer.write(dict.fromkeys(left))
        if theirs:  # compaction takes a value away only where its tombstone is in the same partition
            clear_old_places(kafka, CONFIGS, _CLIENT_ID, theirs)
    return len(left)


def await_findings(kafka: KafkaAccess, subject: ErasureSubject) -> bool:
    """Waits until no finding of their application is on ``clientscope.findings``: until then the job may write one to its table again.

    Returns:
        False where there still is one: other clients of the application have it, or they have pushed again.

    Raises:
        KafkaError, TimeoutError: the topic can't be read to its end.
    """
    left: set[str] = set()
    deadline = time.monotonic() + _PATIENCE_S
    with closing(Follower(kafka, FINDINGS, _CLIENT_ID)) as findings:
        while True:
            for fingerprint, value in findings.read_to_end().items():
                (left.add if value is not None and _is_of(value, Finding, subject) else left.discard)(fingerprint)
            if not left or time.monotonic() > deadline:
                return not left
            time.sleep(_LOOK_S)


def _keys(kafka: KafkaAccess, subject: ErasureSubject) -> tuple[frozenset[bytes], list[bytes]]:
    """Keys that a record of theirs has, since compaction may not have run yet; and those of them whose newest record is no tombstone."""
    gone: dict[bytes, bool] = {}
    theirs: set[bytes] = set()
    with closing(TopicReader(kafka, _CLIENT_ID)) as reader:
        ranges = reader.ranges(CONFIGS)
        reader.seek(ranges)
        latest = LatestByKey(ranges)
        for record in (record for batches in reader.read() for record in by_time(batches)):
            key = record.key or b""
            if latest.is_latest(record):
                gone[key] = record.value is None
            if record.value is not None and _is_of(record.value, Push, subject):
                theirs.add(key)
    return frozenset(theirs), sorted(key for key in theirs if not gone[key])


def _is_of(value: bytes, record: type[Push | Finding], subject: ErasureSubject) -> bool:
    """Whether a configuration, or a finding's application, is theirs."""
    try:
        read = decode(record, value)
    except RecordError:
        return False
    return subject.is_of(read.application if isinstance(read, Finding) else read)


def _count(table: DeltaTable, subject: ErasureSubject) -> int:
    # delta-rs counts, as it deletes: files that it has rewritten have types that pyarrow compares with no other.
    return int(_select(table, "count(*) AS n", subject)["n"][0].as_py())


def _delete(table: DeltaTable, subject: ErasureSubject) -> None:
    """Deletes the rows, by columns that don't name the client: Delta keeps a deletion's condition in its log."""
    named = {field.name for field in table.schema().fields}
    of, number = ("partition", "offset") if "offset" in named else ("fingerprint", "revision")

    def act() -> None:
        found = _select(table, f'"{of}", "{number}"', subject)
        rows: dict[object, list[int]] = {}
        for key, value in zip(found[of].to_pylist(), found[number].to_pylist(), strict=True):
            rows.setdefault(key, []).append(value)
        for key, values in rows.items():
            quoted = key if isinstance(key, int) else f"'{key}'"
            table.delete(f'"{of}" = {quoted} AND "{number}" IN ({", ".join(map(str, sorted(values)))})')

    committed(table, act)


def _select(table: DeltaTable, columns: str, subject: ErasureSubject) -> pa.Table:
    sql = f"SELECT {columns} FROM history WHERE {subject.predicate()}"  # noqa: S608 - quoted there
    return pa.table(QueryBuilder().register("history", table).execute(sql).read_all())
