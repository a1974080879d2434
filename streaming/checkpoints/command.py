"""``clientscope checkpoints list | verify | backup | reset``."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from clientscope.config import CheckpointsBackupSettings, CheckpointsListSettings, CheckpointsResetSettings, CheckpointsVerifySettings
from clientscope.errors import ClientscopeError, SettingsError
from clientscope.kafka_access import KafkaAccess
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

_WIDTH = 160
"""Where it isn't a terminal: enough that a row is a line."""


def list_(settings: CheckpointsListSettings) -> int:
    """Prints a table of all queries.

    Raises:
        EnvironmentProblem: bootstrap servers are given, and no broker answers.
    """
    extents: Extents = {}
    if settings.bootstrap_servers:
        extents = broker.ask(KafkaAccess.of(settings), {plan.topic for plan in PLANS.values()}).extents
    Console(width=None if sys.stdout.isatty() else _WIDTH).print(table(settings.checkpoint_dir, extents))
    if running := lock.holder(settings.checkpoint_dir):
        print(f"\nin use by {running}")
    for query in PLANS:
        for path in resetting.aside(settings.checkpoint_dir, query):
            print(f"\nmoved aside: {path}, {_size(size_bytes(path))}; nothing reads it")
    return 0


def table(checkpoint_dir: Path, extents: Extents) -> Table:
    """A row for each partition of each query.

    Args:
        extents: what topics hold, to tell how far behind a query is; empty if nobody was asked.
    """
    view = Table(header_style="bold", box=None, pad_edge=False)
    headings = ["QUERY", "BATCH", "TOPIC", "OFFSET", *(["BEHIND"] if extents else []), "SIZE", "WRITTEN BY", "WHEN"]
    for heading in headings:
        right = heading in ("BATCH", "OFFSET", "BEHIND", "SIZE")
        narrowest = {"TOPIC": 15, "WRITTEN BY": 12, "WHEN": 10}.get(heading)
        fixed = right or heading == "QUERY"
        view.add_column(heading, overflow="fold", no_wrap=fixed, min_width=narrowest, justify="right" if right else "left")
    for query, plan in PLANS.items():
        checkpoint = folder(checkpoint_dir, query)
        files = spark_files.read(checkpoint)
        batch = "damaged" if files.problems else "–" if files.committed is None else str(files.committed)
        first = [f"{query}/{plan.folder}", batch]
        last: list[str | Text] = [_size(size_bytes(checkpoint)) if checkpoint.is_dir() else "–", *map(plain, _written_by(checkpoint))]
        places = [(topic, number, offset) for topic, found in files.position.items() for number, offset in sorted(found.items())]
        if not places:
            view.add_row(*first, plan.topic, _begins(checkpoint), *(["–"] if extents else []), *last)
        for topic, number, offset in places:
            extent = extents.get(topic, {}).get(number)
            behind = [] if not extents else ["–" if extent is None else f"{max(0, extent.end - offset):,}"]
            view.add_row(*first, plain(f"{topic}/{number}"), f"{offset:,}", *behind, *last)
            first, last = ["", ""], ["", "", ""]
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
