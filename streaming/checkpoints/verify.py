"""Verification of checkpoints by their files; asks no broker and starts no JVM."""

from __future__ import annotations

from dataclasses import dataclass

from clientscope.stores.store_path import AnyPath
from streaming.checkpoints import manifest, start_file
from streaming.checkpoints.compare import RESET, reset
from streaming.checkpoints.manifest import Refused
from streaming.checkpoints.plans import PLANS, folder, versions
from streaming.internals import spark_files


@dataclass(frozen=True)
class CheckpointProblem:
    """What is wrong with one query's checkpoint, and what to do."""

    query: str
    what: str
    hint: str


def verify(checkpoint_dir: AnyPath) -> list[CheckpointProblem]:
    """Looks at every query's current checkpoint; nothing is found where nothing is wrong."""
    return [problem for query in PLANS for problem in _verify(checkpoint_dir, query)]


def unknown_formats(checkpoint_dir: AnyPath) -> list[str]:
    """What can't be verified, a sentence each: files that a Spark wrote whose format isn't known. They may well be whole."""
    return [f"{query}: {each}" for query in PLANS for each in spark_files.read(folder(checkpoint_dir, query)).unknown]


def _verify(checkpoint_dir: AnyPath, query: str) -> list[CheckpointProblem]:
    checkpoint, version = folder(checkpoint_dir, query), PLANS[query].version
    files = spark_files.read(checkpoint)
    again = f"restore a backup, or: {reset(query, files)}"
    found = [CheckpointProblem(query, what, again) for what in files.problems]
    for read in (manifest.read, start_file.read):
        try:
            read(checkpoint)
        except Refused as error:
            found.append(CheckpointProblem(query, str(error), error.hint or ""))
    found += [
        CheckpointProblem(
            query, f"version {number} is newer than this clientscope knows ({version})", f"run the newer one, or: {RESET} {query}"
        )
        for number, path in versions(checkpoint_dir, query).items()
        if number > version and spark_files.begun(path)
    ]
    written = None if found else manifest.read(checkpoint)
    if written is not None and (written.query, written.state_version) != (query, version):
        found.append(CheckpointProblem(query, f"it is that of {written.query}, version {written.state_version}", "put back what was moved"))
    if written is not None and written.batch is not None and (files.committed is None or files.committed < written.batch):
        found.append(
            CheckpointProblem(query, f"it has gone back: batch {written.batch} was done, and the last now is {files.committed}", again)
        )
    return found
