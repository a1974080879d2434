"""``clientscope checkpoints list | verify | backup | reset``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.table import Table

from clientscope.config import CheckpointsBackupSettings, CheckpointsListSettings, CheckpointsResetSettings, CheckpointsVerifySettings
from clientscope.errors import ClientscopeError, SettingsError
from clientscope.kafka_access import KafkaAccess
from clientscope.report.listing import Listed, show
from clientscope.report.text import plain
from streaming.checkpoints import broker, lock, manifest, spark_files, start_file
from streaming.checkpoints import reset as resetting
from streaming.checkpoints.backup import backup as back_up
from streaming.checkpoints.files import size_bytes
from streaming.checkpoints.manifest import Refused
from streaming.checkpoints.offsets import Extents, to_json
from streaming.checkpoints.plans import PLANS, folder
from streaming.checkpoints.verify import Problem
from streaming.checkpoints.verify import verify as find_problems

FIELDS = (
    "query", "version", "batch", "damaged", "topic", "partition", "offset", "behind", "begins", "size_bytes", "written_by", "written_at",
)  # fmt: skip
"""Of a partition that a query reads."""


def list_(settings: CheckpointsListSettings) -> int:
    """Prints a line for each partition of each query.

    Raises:
        EnvironmentProblem: bootstrap servers are given, and no broker answers.
    """

    def look() -> Listed[dict[str, Any]]:
        extents: Extents = {}
        if settings.bootstrap_servers:
            extents = broker.ask(KafkaAccess.of(settings), {plan.topic for plan in PLANS.values()}).extents
        running = lock.holder(settings.checkpoint_dir)
        aside = [path for query in PLANS for path in resetting.aside(settings.checkpoint_dir, query)]
        return Listed(
            list(rows(settings.checkpoint_dir, extents)),
            row=lambda row: row,
            name=lambda row: str(row["query"]),
            table=lambda found, wide: table(found, asked=bool(settings.bootstrap_servers), wide=wide),
            left_out=[
                *([f"in use by {running}"] if running else []),
                *(f"moved aside: {path}, {_size(size_bytes(path))}; nothing reads it" for path in aside),
            ],
        )

    show(settings, FIELDS, look)
    return 0


def rows(checkpoint_dir: Path, extents: Extents) -> Iterator[dict[str, Any]]:
    """An object for each partition of each query, or for a query that has read nothing; None is what isn't known.

    Args:
        extents: what topics hold, to tell how far behind a query is; empty if nobody was asked.
    """
    for query, plan in PLANS.items():
        checkpoint = folder(checkpoint_dir, query)
        files = spark_files.read(checkpoint)
        written_by, when = _written_by(checkpoint)
        read = files.position.items()
        places: list[tuple[str, int | None, int | None]] = [(topic, *each) for topic, found in read for each in sorted(found.items())]
        for topic, number, offset in places or [(plan.topic, None, None)]:
            extent = extents.get(topic, {}).get(number) if number is not None else None
            yield {
                "query": query,
                "version": plan.folder,
                "batch": files.committed,
                "damaged": bool(files.problems),
                "topic": topic,
                "partition": number,
                "offset": offset,
                "behind": None if extent is None or offset is None else max(0, extent.end - offset),
                "begins": _begins(checkpoint) if number is None else None,
                "size_bytes": size_bytes(checkpoint) if checkpoint.is_dir() else None,
                "written_by": written_by,
                "written_at": when,
            }


def table(found: Sequence[Mapping[str, Any]], *, asked: bool, wide: bool = False) -> Table:
    """A row for each partition; what its query has in common stands in the first.

    Args:
        asked: whether a broker was, so that it is known how far queries are behind.
    """
    view = Table(header_style="bold", box=None, pad_edge=False)
    headings = ["QUERY", "BATCH", "TOPIC", "OFFSET", *(["BEHIND"] if asked else []), "SIZE", "WRITTEN BY", "WHEN"]
    for heading in headings:
        right = heading in ("BATCH", "OFFSET", "BEHIND", "SIZE")
        narrowest = {"TOPIC": 15, "WRITTEN BY": 12, "WHEN": 10}.get(heading)
        fixed = right or heading == "QUERY"
        view.add_column(heading, overflow="fold", no_wrap=fixed, min_width=narrowest, justify="right" if right else "left")
    before = ""
    for row in found:
        known = row["partition"] is not None
        behind = [] if not asked else ["–" if row["behind"] is None else f"{row['behind']:,}"]
        place = plain(f"{row['topic']}/{row['partition']}" if known else row["topic"])
        where = [place, f"{row['offset']:,}" if known else row["begins"], *behind]
        if row["query"] == before and not wide:
            view.add_row("", "", *where, "", "", "")
            continue
        before = row["query"]
        batch = "damaged" if row["damaged"] else "–" if row["batch"] is None else str(row["batch"])
        size = "–" if row["size_bytes"] is None else _size(row["size_bytes"])
        view.add_row(f"{row['query']}/{row['version']}", batch, *where, size, plain(row["written_by"]), plain(row["written_at"]))
    return view


def verify(settings: CheckpointsVerifySettings) -> int:
    """Prints a line for each problem; 1 if there is one."""
    found = find_problems(settings.checkpoint_dir)
    _say(found)
    if found and (running := lock.holder(settings.checkpoint_dir)):
        print(f"{running} is writing here: look again, or stop it first")
    if not found:
        print("all checkpoints are whole")
    return 1 if found else 0


def backup(settings: CheckpointsBackupSettings) -> int:
    """Copies all checkpoints.

    Raises:
        ClientscopeError: what `back_up` says, or that the copy is damaged.
    """
    found = back_up(settings.checkpoint_dir, settings.dir)
    _say(found)
    if found:
        raise ClientscopeError(f"{settings.dir} is as damaged as what it is a copy of", "see above; an older backup may be whole")
    print(f"{settings.dir}: {_size(size_bytes(settings.dir))}, verified")
    return 0


def reset(settings: CheckpointsResetSettings) -> int:
    """Moves a query's checkpoint aside.

    Raises:
        SettingsError: no such query, or several places to begin.
        ClientscopeError: what `streaming.checkpoints.reset` says.
    """
    query = resetting.known(settings.query)
    if sum((bool(settings.to_offsets), bool(settings.to_time), settings.to_earliest)) > 1:
        raise SettingsError("--to-offsets, --to-time and --to-earliest exclude each other", "give one of them")
    offsets = None
    if settings.to_offsets:
        offsets = resetting.at_offsets(KafkaAccess.of(settings), query, settings.to_offsets)
    elif settings.to_time:
        offsets = resetting.at_time(KafkaAccess.of(settings), query, settings.to_time)
    for path in resetting.reset(settings.checkpoint_dir, query, offsets, datetime.now(UTC)):
        print(f"moved aside: {path}")
    print(f"{query} will begin at {to_json(offsets) if offsets else 'the beginning of its topic'}")
    return 0


def _say(problems: list[Problem]) -> None:
    for problem in problems:
        print(f"{problem.query}: {problem.what}; {problem.hint}")


def _written_by(checkpoint: Path) -> tuple[str, str]:
    try:
        written = manifest.read(checkpoint)
    except Refused:
        return "damaged", "–"
    if written is None:
        return ("no manifest" if checkpoint.is_dir() else "–"), "–"
    return f"clientscope {written.clientscope_version}, Spark {written.spark_version}", written.written_at


def _begins(checkpoint: Path) -> str:
    try:
        return "as reset" if start_file.read(checkpoint) else "–"
    except Refused:
        return "damaged"


def _size(number: int) -> str:
    for unit in ("B", "KiB", "MiB"):
        if number < 1024:
            return f"{number} {unit}"
        number //= 1024
    return f"{number} GiB"
