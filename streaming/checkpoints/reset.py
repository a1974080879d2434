"""Reset of a query: its checkpoint is moved aside, never deleted, and a start file says where the next one begins."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from clientscope.errors import SettingsError
from clientscope.kafka.access import Kafka
from clientscope.stores import trees
from clientscope.stores.store_path import AnyPath
from streaming.checkpoints import broker, start_file
from streaming.checkpoints.lock import locked
from streaming.checkpoints.manifest import Refused
from streaming.checkpoints.offsets import EARLIEST, Extent, Offsets, from_json
from streaming.checkpoints.plans import PLANS, folder, versions
from streaming.internals import spark_files

_ASIDE = re.compile(r"v\d+\.(?:before-\d{8}T\d{6}Z(?:-\d+)?|skipped)")


def known(query: str) -> str:
    """The name of a query.

    Raises:
        SettingsError: there is no query of that name.
    """
    if query not in PLANS:
        raise SettingsError(f"there is no query {query!r}", f"there are {', '.join(PLANS)}")
    return query


def reset(checkpoint_dir: AnyPath, query: str, offsets: Offsets | None, now: datetime) -> list[AnyPath]:
    """Moves a query's checkpoint aside, and one of a newer version too; returns where they are now.

    Args:
        offsets: where the query begins anew; None for the beginning of its topic.

    Raises:
        Locked: a job, or another command, has the directory.
    """
    with locked(checkpoint_dir, "clientscope checkpoints reset"):
        current = folder(checkpoint_dir, query)
        position = _position(current)
        stamp = f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"
        moved: list[AnyPath] = []
        for number, path in versions(checkpoint_dir, query).items():
            if number >= PLANS[query].version and any(path.rglob("*")):
                target = path.with_name(f"{path.name}.before-{stamp}")
                copies = 1
                while target.exists():
                    copies += 1
                    target = path.with_name(f"{path.name}.before-{stamp}-{copies}")
                moved.append(trees.move(path, target))
        start = start_file.StartOffsets(
            offsets=None if offsets is None else {topic: dict(found) for topic, found in offsets.items()},
            position={topic: dict(found) for topic, found in position.items()},
            written_at=now.astimezone(UTC).isoformat(timespec="seconds"),
        )
        start_file.write(current, start)
        return moved


def _position(checkpoint: AnyPath) -> Offsets:
    """Where its query was; if it hasn't begun since it was last reset, then where it was before that."""
    if spark_files.begun(checkpoint):
        return spark_files.read(checkpoint).position
    try:
        start = start_file.read(checkpoint)
    except Refused:
        return {}
    return start.position if start else {}


def aside(checkpoint_dir: AnyPath, query: str) -> list[AnyPath]:
    """The checkpoints of a query that were moved aside."""
    parent = checkpoint_dir.absolute() / query
    names = sorted(path.name for path in parent.iterdir()) if parent.is_dir() else []
    return [parent / name for name in names if _ASIDE.fullmatch(name)]


def at_offsets(kafka: Kafka, query: str, given: str) -> Offsets:
    """Offsets as a person gives them, checked against what the topic holds.

    Args:
        given: JSON, ``{"TOPIC": {"0": 42}}`` or ``{"0": 42}``, or the name of a file with that. A partition that isn't named begins at
            its beginning, and so does one at -2.

    Raises:
        SettingsError: it is something else, or names what isn't there.
        EnvironmentProblem: no broker answers.
    """
    topic = PLANS[query].topic
    try:
        text = given if given.lstrip().startswith("{") else Path(given).read_text()
        found = json.loads(text)
        if isinstance(found, dict) and not any(isinstance(value, dict) for value in found.values()):
            text = json.dumps({topic: found})
        offsets = from_json(text)
    except OSError as error:
        raise SettingsError(f"--to-offsets: {given}: {error.strerror}", "give JSON, as in '{\"0\": 42}', or a file that holds it") from None
    except ValueError as error:
        raise SettingsError(f"--to-offsets: {error}", "give JSON, as in '{\"0\": 42}'") from None
    if offsets.keys() - {topic}:
        raise SettingsError(f"--to-offsets: {query} reads {topic}, not {', '.join(sorted(offsets.keys() - {topic}))}")
    extents = broker.ask(kafka, [topic]).extents[topic]
    for number, offset in offsets.get(topic, {}).items():
        extent = extents.get(number)
        if extent is None:
            raise SettingsError(f"--to-offsets: {topic} has no partition {number}", f"it has {len(extents)}")
        if offset != EARLIEST and not extent.begin <= offset <= extent.end:
            raise SettingsError(
                f"--to-offsets: {topic}, partition {number}, holds offsets {extent.begin} to {extent.end - 1}, not {offset}",
                "what is gone can't be read again; --to-earliest begins where it begins now",
            )
    return start_file.completed(offsets, {topic: len(extents)}, EARLIEST)


def at_time(kafka: Kafka, query: str, given: str) -> Offsets:
    """Where the records of a time, and later ones, are.

    Args:
        given: ISO 8601; without an offset from UTC it is UTC.

    Raises:
        SettingsError: it is no time.
        EnvironmentProblem: no broker answers.
    """
    topic = PLANS[query].topic
    try:
        time = datetime.fromisoformat(given)
    except ValueError:
        raise SettingsError(f"--to-time: {given!r} is no time", "ISO 8601 is, as in 2026-01-02T03:04:05Z") from None
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time
    extents: dict[int, Extent] = dict(broker.ask(kafka, [topic]).extents[topic])
    return {topic: broker.at_time(kafka, topic, extents, int(time.timestamp() * 1000))}
