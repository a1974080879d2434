"""``clientscope history erase``: a client or a principal leaves history, and the topics that keep it for long; with proof (F35)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import CommitFailedError
from kafka import KafkaConsumer, TopicPartition

from clientscope.compacted import TopicWriter
from clientscope.errors import ClientscopeError, RecordError
from clientscope.kafka_access import KafkaAccess
from clientscope.records.codec import ClientConfigRecord, decode
from clientscope.records.topics import CONFIGS
from sinks.history.tables import opened, remove_unused

_CLIENT_ID = "clientscope-history"
_TRIES = 5


@dataclass(frozen=True)
class Whom:
    """Whose rows and records go: everything of this client.id, or of this principal, exactly as written; both where both are named."""

    client_id: str | None = None
    principal: str | None = None

    @property
    def columns(self) -> dict[str, str]:
        """What is looked for, by column."""
        named = {"client_id": self.client_id, "principal": self.principal}
        return {column: value for column, value in named.items() if value is not None}

    def predicate(self) -> str:
        """As SQL, in which a value is nothing but a value."""
        return " AND ".join(f"{column} = '{value.replace(chr(39), chr(39) * 2)}'" for column, value in self.columns.items())

    def is_of(self, record: ClientConfigRecord) -> bool:
        """Whether a pushed configuration is theirs."""
        return all(getattr(record, column) == value for column, value in self.columns.items())


@dataclass(frozen=True)
class Erased:
    """What was done to a table: rows that went, files that went from the disk, and rows that are left, counted anew."""

    table: str
    rows: int
    files: int
    left: int


def erase_rows(folder: Path, whom: Whom, *, dry_run: bool = False) -> Erased | None:
    """Takes the rows out of a table, and off the disk; None for a table that names no clients.

    While the job goes on: whoever commits second does it again, and what is pushed from now on comes in anew.

    Raises:
        ClientscopeError: rows are left; do it again.
    """
    table = opened(folder)
    if not whom.columns.keys() <= {field.name for field in table.schema().fields}:
        return None
    rows = _count(table, whom)
    if dry_run:
        return Erased(folder.name, rows, 0, rows)
    if rows:
        _delete(table, whom)
    removed = remove_unused(folder, table)  # also what a compaction has left of them
    left = _count(opened(folder), whom)
    if left:
        raise ClientscopeError(f"{left} rows are in {folder.name} again", "the client is still there: stop it, then do this again")
    return Erased(folder.name, rows, len(removed), left)


def erase_records(kafka: KafkaAccess, whom: Whom, *, dry_run: bool = False) -> int:
    """Writes a tombstone for each of their records on ``clientscope.configs``, which compaction then takes away; how many.

    The job follows: findings about nobody else end. Other topics lose their records by age alone.

    Raises:
        KafkaError: the topic can't be read, or a tombstone was not acknowledged.
    """
    keys = sorted(set(_keys(kafka, whom)))
    if keys and not dry_run:
        with closing(TopicWriter(kafka, CONFIGS, _CLIENT_ID)) as writer:
            writer.write(dict.fromkeys(keys))
    return len(keys)


def _keys(kafka: KafkaAccess, whom: Whom) -> Iterator[str]:
    """Keys whose newest record is theirs, or was: compaction may not have run yet."""
    newest: dict[str, bytes | None] = {}
    theirs: set[str] = set()
    with closing(KafkaConsumer(**kafka.client_arguments(), client_id=_CLIENT_ID, enable_auto_commit=False)) as consumer:
        partitions = [TopicPartition(CONFIGS, number) for number in consumer.partitions_for_topic(CONFIGS) or ()]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            for batch in consumer.poll(timeout_ms=1_000).values():
                for message in batch:
                    key = message.key.decode("utf-8", "surrogateescape") if message.key is not None else ""
                    newest[key] = message.value
                    if message.value is not None and _is_of(message.value, whom):
                        theirs.add(key)
    yield from (key for key in theirs if newest[key] is not None)


def _is_of(value: bytes, whom: Whom) -> bool:
    try:
        return whom.is_of(decode(ClientConfigRecord, value))
    except RecordError:
        return False


def _count(table: DeltaTable, whom: Whom) -> int:
    # delta-rs counts, as it deletes: files that it has rewritten have types that pyarrow compares with no other.
    return int(_select(table, "count(*) AS n", whom)["n"][0].as_py())


def _delete(table: DeltaTable, whom: Whom) -> None:
    """By what else names the rows: Delta keeps a deletion's condition in its log, and that must not name whom it is about."""
    named = {field.name for field in table.schema().fields}
    of, number = ("partition", "offset") if "offset" in named else ("fingerprint", "revision")
    for left in reversed(range(_TRIES)):
        found = _select(table, f'"{of}", "{number}"', whom)
        rows: dict[object, list[int]] = {}
        for key, value in zip(found[of].to_pylist(), found[number].to_pylist(), strict=True):
            rows.setdefault(key, []).append(value)
        try:
            for key, values in rows.items():
                quoted = key if isinstance(key, int) else f"'{key}'"
                table.delete(f'"{of}" = {quoted} AND "{number}" IN ({", ".join(map(str, sorted(values)))})')
        except CommitFailedError:
            if not left:
                raise
            table.update_incremental()
        else:
            return


def _select(table: DeltaTable, columns: str, whom: Whom) -> pa.Table:
    sql = f"SELECT {columns} FROM history WHERE {whom.predicate()}"  # noqa: S608 - quoted there
    return pa.table(QueryBuilder().register("history", table).execute(sql).read_all())
