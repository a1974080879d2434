"""Comparison of the job about to run with the writer of a checkpoint: continue, with notes, or refuse, with advice. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from streaming.checkpoints.manifest import Manifest, Refused, SeenTopic
from streaming.checkpoints.offsets import Extents, Lost, beyond, lost, said, to_json
from streaming.checkpoints.plans import PLANS
from streaming.internals.spark_files import SparkFiles

RESET = "clientscope checkpoints reset"


class RecordsLost(Refused):
    """Records are gone that a query has not read.

    Attributes:
        lost: which.
    """

    def __init__(self, query: str, gone: list[Lost]) -> None:
        super().__init__(
            f"records are gone that {query} has not read: {said(gone)}",
            f"retention or a user removed them; to continue without them: --on-lost-records skip, or {RESET} {query} --to-earliest (counted"
            " as clientscope_stream_lost_records), and give the topic more retention, or the job less downtime",
        )
        self.lost = gone


@dataclass(frozen=True)
class StartDecision:
    """The decision that a query may start.

    Attributes:
        manifest: to be written.
        notes: sentences for the operator.
    """

    manifest: Manifest
    notes: list[str] = field(default_factory=list)


def reset(query: str, files: SparkFiles | None = None) -> str:
    """The command that starts a query anew: for one without state from where it was, if that is known, else from the beginning."""
    position = files.position if files else {}
    if position and not PLANS[query].stateful:
        return f"{RESET} {query} --to-offsets '{to_json(position)}'"
    return f"{RESET} {query} --to-earliest"


def damaged(query: str, files: SparkFiles) -> Refused:
    """The refusal of a checkpoint with damaged files."""
    more = f" (and {len(files.problems) - 1} more: clientscope checkpoints verify)" if len(files.problems) > 1 else ""
    return Refused(
        f"the checkpoint of {query} is damaged: {files.problems[0]}{more}",
        f"restore a backup, or start the query again from Kafka: {reset(query, files)}; checkpoints/README.md says what that repeats",
    )


def decide(now: Manifest, before: Manifest | None, files: SparkFiles, extents: Extents) -> StartDecision:
    """Compares.

    Args:
        now: what is about to run, and the topics as they are.
        before: what wrote the checkpoint; None where nothing has, or a clientscope that wrote no manifest.
        files: Spark's own.
        extents: what the topics hold.

    Raises:
        RecordsLost: records are gone, the query could continue without them, and nothing else is wrong.
        Refused: it can't continue; says what is wrong, and what to do.
    """
    query = now.query
    if files.problems:
        raise damaged(query, files)
    if not files.begun:
        return StartDecision(now)
    notes = [f"{query}: {each}; Spark continues by it, and records that are gone can't be noticed" for each in files.unknown]
    if before is None:
        notes.append(f"{query}: its checkpoint was written before there were manifests, and is sound")
    else:
        notes += _require_same_work(now, before, files)
        _require_same_topics(query, now.topics, before.topics, files)
    _require_no_cut(query, files, extents)
    if gone := lost(files.position, extents) if files.position else []:
        raise RecordsLost(query, gone)
    fixed = files.shuffle_partitions or (before.shuffle_partitions if before else now.shuffle_partitions)
    if PLANS[query].stateful and fixed != now.shuffle_partitions:
        notes.append(
            f"{query}: continues with {fixed} shuffle partitions, which its checkpoint fixes; {now.shuffle_partitions} would need a reset"
        )
    changes = {"shuffle_partitions": fixed, "batch": files.committed, "lost": before.lost if before else {}}
    return StartDecision(now.model_copy(update=changes), notes)


def _require_same_work(now: Manifest, before: Manifest, files: SparkFiles) -> list[str]:
    """Checks that the checkpoint is of the same query, written by this version or an older one.

    Returns:
        Notes for the operator.
    """
    query = now.query
    if (before.query, before.state_version) != (query, now.state_version):
        raise Refused(
            f"the checkpoint in the place of {query}, version {now.state_version}, is that of {before.query}, version"
            f" {before.state_version}",
            f"put back what was moved, or start the query anew: {reset(query)}",
        )
    for record, newest in before.record_versions.items():
        if newest > now.record_versions.get(record, -1):
            raise Refused(
                f"the checkpoint of {query} was written by clientscope {before.clientscope_version}, which reads {record} version {newest};"
                f" {now.clientscope_version} would send such records to the quarantine",
                f"run clientscope {before.clientscope_version} or newer",
            )
    then, spark = _release(before.spark_version), _release(now.spark_version)
    if spark < then:
        raise Refused(
            f"the checkpoint of {query} was written by Spark {before.spark_version}, which is newer than {now.spark_version}",
            f"run Spark {before.spark_version} or newer, or start the query anew: {reset(query, files)}",
        )
    if spark[0] > then[0]:
        raise Refused(
            f"the checkpoint of {query} was written by Spark {before.spark_version}; no Spark {spark[0]} was tried on it",
            f"run Spark {then[0]}, or start the query anew: {reset(query, files)}",
        )
    if before.batch is not None and (files.committed is None or files.committed < before.batch):
        raise Refused(
            f"the checkpoint of {query} has gone back: batch {before.batch} was done when the job last started, and now the last is"
            f" {'none' if files.committed is None else files.committed}",
            f"files were removed, or mixed with older ones; restore a whole backup, or start the query anew: {reset(query, files)}",
        )
    notes = []
    for what, was, is_now in (
        ("Spark", before.spark_version, now.spark_version),
        ("clientscope", before.clientscope_version, now.clientscope_version),
    ):
        if was != is_now:
            notes.append(f"{query}: continues with {what} {is_now}, after {was}")
    for topic, seen in before.topics.items():
        if topic in now.topics and now.topics[topic].partitions > seen.partitions:
            notes.append(f"{query}: {topic} has {now.topics[topic].partitions} partitions now, {seen.partitions} before; all are read")
    return notes


def _require_same_topics(query: str, now: Mapping[str, SeenTopic], before: Mapping[str, SeenTopic], files: SparkFiles) -> None:
    if now.keys() != before.keys():
        raise Refused(
            f"the checkpoint of {query} is of {', '.join(sorted(before))}, and it is to read {', '.join(sorted(now))}",
            f"start the query anew: {RESET} {query} --to-earliest",
        )
    for topic, seen in before.items():
        known = seen.topic_id is not None and now[topic].topic_id is not None
        if known and now[topic].topic_id != seen.topic_id:
            at = ", ".join(f"partition {number} from offset {offset}" for number, offset in sorted(files.position.get(topic, {}).items()))
            raise Refused(
                f"{topic} was deleted and created again, or this is another cluster: its id is {now[topic].topic_id}, and {query} has read"
                f" {seen.topic_id}; what it had not read of that is lost: {at or 'all'}; the number of records is unknown",
                f"is --bootstrap-servers the right cluster? if so, begin with the new topic: {RESET} {query} --to-earliest",
            )


def _require_no_cut(query: str, files: SparkFiles, extents: Extents) -> None:
    if cut := beyond(files.position, extents):
        raise Refused(
            f"{query} has read what its topic doesn't have: {'; '.join(cut)}",
            "the topic was made again, or has lost its last records (an unclean leader election); begin again:"
            f" {RESET} {query} --to-earliest",
        )


def _release(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with: ``4.2.0.dev1`` is 4.2.0."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in found[0].split(".")] if found else [0]
    return tuple([*numbers, 0, 0][:3])
