"""Reader of Spark's own files of a checkpoint, without a JVM: a query's progress, and damage to the files.

The layout is that of Spark 3.5 to 4.2: ``metadata`` (StreamMetadata), ``sources/0/0`` (KafkaSourceInitialOffsetWriter), ``offsets/N``
(OffsetSeqLog), ``commits/N`` (CommitLog); state is `streaming.internals.state_files`'.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from clientscope.stores.store_path import AnyPath
from clientscope.stores.trees import below
from streaming.checkpoints import offsets
from streaming.checkpoints.offsets import Offsets
from streaming.internals import state_files

_RETAINED = 100
"""spark.sql.streaming.minBatchesToRetain: Spark may remove what is older, one file at a time, and be killed between two."""

_UNFINISHED = re.compile(r"\.\S+\.tmp")
"""What Spark writes before it gives a file its name (CheckpointFileManager), and never reads: a full disk leaves it cut off."""

_FORMAT = "v1"
"""Of every log here, in each release of `streaming.internals.releases`; Spark 4.2 writes offsets as v2 too, where a setting asks for it."""

_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"


@dataclass(frozen=True)
class SparkFiles:
    """What a checkpoint says.

    Attributes:
        begun: whether Spark has written anything; False where the query will start anew.
        planned: the number of the last batch whose offsets were fixed; None before the first.
        committed: the number of the last batch that was done; None before the first.
        position: from where records have not been read, or not to a batch's end.
        planned_to: where the last batch ends whose offsets were fixed.
        shuffle_partitions: as the last planned batch fixed them for good.
        problems: what is wrong, a sentence each; the rest is to be trusted only where there is none.
        unknown: files of a format that isn't known, a sentence each. Spark may well read them; offsets that are in them are missing here.
        query_id: the checkpoint's own, which sinks know it by.
    """

    begun: bool = False
    planned: int | None = None
    committed: int | None = None
    position: Offsets = field(default_factory=dict)
    planned_to: Offsets = field(default_factory=dict)
    shuffle_partitions: int | None = None
    problems: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    query_id: str = ""


@dataclass(frozen=True)
class _Noted:
    """What was noticed while reading."""

    problems: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Batch:
    offsets: Offsets
    shuffle_partitions: int | None


def begun(checkpoint: AnyPath) -> bool:
    """Whether Spark has written anything there; the folder needn't exist."""
    return any((checkpoint / name).exists() for name in ("metadata", "offsets", "commits", "sources", "state"))


def placed(checkpoint: AnyPath) -> bool:
    """Whether Spark has written where the query begins, or a batch ends: it never asks again where to begin."""
    return any((checkpoint / name).exists() for name in ("sources/0/0", "offsets/0", "commits")) or any(_log(checkpoint / "offsets"))


def read(checkpoint: AnyPath) -> SparkFiles:
    """Reads all that is there, and checks it; the folder needn't exist."""
    if not begun(checkpoint):
        return SparkFiles()
    noted = _Noted(list(_changed(checkpoint)))
    problems = noted.problems
    query_id = _identity(checkpoint, problems)
    planned = {number: _planned(path, noted) for number, path in _log(checkpoint / "offsets")}
    commits = dict(_log(checkpoint / "commits"))
    last, committed = max(planned, default=None), max(commits, default=None)
    for number, path in commits.items():
        if number > (committed or 0) - _RETAINED:
            _lines(path, noted)
    problems += [*_gaps("offsets", planned), *_gaps("commits", commits), *_together(last, committed)]
    problems += [f"commits/{number} has no offsets/{number}" for number in sorted(commits) if number == committed and number not in planned]
    batch = planned.get(last) if last is not None else None
    done = planned.get(committed) if committed is not None else _initial(checkpoint, noted)
    if committed is not None:
        problems += state_files.problems(checkpoint / "state", committed + 1, done.shuffle_partitions if done else None)
    return SparkFiles(
        begun=True,
        planned=last,
        committed=committed,
        position=done.offsets if done else {},
        planned_to=batch.offsets if batch else {},
        shuffle_partitions=batch.shuffle_partitions if batch else None,
        problems=tuple(dict.fromkeys(problems)),
        unknown=tuple(dict.fromkeys(noted.unknown)),
        query_id=query_id,
    )


def _log(folder: AnyPath) -> Iterator[tuple[int, AnyPath]]:
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    yield from ((number, folder / str(number)) for number in sorted(int(name) for name in names if name.isdigit()))


def _identity(checkpoint: AnyPath, problems: list[str]) -> str:
    try:
        found = json.loads((checkpoint / "metadata").read_bytes())["id"]
    except FileNotFoundError:
        problems.append("metadata is missing: the query would take another id, and begin anew among what is here")
    except (OSError, ValueError, KeyError, TypeError) as error:
        problems.append(f"metadata can't be read: {error}")
    else:
        if isinstance(found, str):
            return found
        problems.append("metadata names no query id")
    return ""


def _lines(path: AnyPath, noted: _Noted) -> list[str]:
    """The lines of a log's file after its version; none, and a note, if it isn't whole or of another format."""
    name = f"{path.parent.name}/{path.name}"
    try:
        lines = path.read_bytes().removeprefix(b"\0").decode().splitlines()  # the initial offsets begin with a 0 (SPARK-19517)
    except (OSError, UnicodeDecodeError) as error:
        noted.problems.append(f"{name} can't be read: {error}")
        return []
    if not lines or not re.fullmatch(r"v\d+", lines[0]):
        noted.problems.append(f"{name} is damaged: it doesn't begin with a version")
        return []
    if lines[0] != _FORMAT:
        noted.unknown.append(f"{name} is of Spark's format {lines[0]}; this clientscope knows {_FORMAT}")
        return []
    try:
        if not lines[1:]:
            raise ValueError("it ends after its version")  # noqa: TRY301
        for line in lines[1:]:
            if line != "-":
                json.loads(line)
    except ValueError as error:
        noted.problems.append(f"{name} is damaged: {error}")
        return []
    return lines[1:]


def _planned(path: AnyPath, noted: _Noted) -> _Batch | None:
    lines = _lines(path, noted)
    if not lines:
        return None
    try:
        metadata: Any = json.loads(lines[0])
        fixed = metadata["conf"].get(_SHUFFLE_PARTITIONS)
        if len(lines) != 2:
            raise ValueError(f"it has offsets of {len(lines) - 1} sources")  # noqa: TRY301
        return _Batch(offsets.from_json(lines[1]) if lines[1] != "-" else {}, None if fixed is None else int(fixed))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        noted.problems.append(f"offsets/{path.name} is damaged: {error}")
        return None


def _initial(checkpoint: AnyPath, noted: _Noted) -> _Batch | None:
    path = checkpoint / "sources" / "0" / "0"
    lines = _lines(path, noted) if path.exists() else []
    try:
        return _Batch(offsets.from_json(lines[0]), None) if lines else None
    except ValueError as error:
        noted.problems.append(f"sources/0/0 is damaged: {error}")
        return None


def _gaps(name: str, found: dict[int, Any]) -> Iterator[str]:
    if found:
        last = max(found)
        for number in range(max(min(found), last - _RETAINED + 1), last):
            if number not in found:
                yield f"{name}/{number} is missing between others"


def _together(planned: int | None, committed: int | None) -> Iterator[str]:
    """Offsets are fixed before a batch, one at a time, and it is committed after."""
    if planned is None:
        if committed is not None:
            yield f"offsets are missing: commits go to {committed}"
    elif planned > (0 if committed is None else committed + 1):
        done = "none is" if committed is None else f"they are to {committed}"
        yield f"commits are missing: offsets go to {planned}, and only {planned - 1} can be uncommitted; {done}"


def _changed(checkpoint: AnyPath) -> Iterator[str]:
    """Files that aren't as they were written, by Hadoop's checksums beside them (ChecksumFileSystem), where there are any."""
    there: list[AnyPath] = [*checkpoint.rglob(".*.crc")]
    for checksums in sorted(there, key=str):
        path = checksums.with_name(checksums.name[1:-4])
        if _UNFINISHED.fullmatch(path.name):
            continue
        try:
            whole = _as_written(path.read_bytes(), checksums.read_bytes())
        except FileNotFoundError:  # reported by whatever needs the file, if anything does
            continue
        except OSError as error:
            yield f"{below(path, checkpoint)} can't be read: {error.strerror}"
            continue
        if not whole:
            yield f"{below(path, checkpoint)} was changed after it was written: its checksum differs"


def _as_written(content: bytes, checksums: bytes) -> bool:
    if not checksums.startswith(b"crc\0") or len(checksums) < 8:
        return False
    each = int.from_bytes(checksums[4:8], "big")
    if each <= 0:
        return False
    expected = b"".join(zlib.crc32(content[at : at + each]).to_bytes(4, "big") for at in range(0, len(content), each))
    return checksums[8:] == expected
