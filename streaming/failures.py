"""Cause of a query's failure, from Spark's exception: one line with what happened, and what to do. Pure.

The words by which failures are recognised were read from Spark 3.5.9, 4.0.5, 4.1.4 and 4.2.0; error conditions where there are such. A
failure that none of these matches is reported in its own first line, and is retried."""

from __future__ import annotations

import re
from typing import NamedTuple

from clientscope.errors import ClientscopeError, EnvironmentProblem

RECORDS_GONE = re.compile(r"KAFKA_DATA_LOSS|OffsetOutOfRangeException|Some data may have been lost because")

DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded|ENOSPC|EDQUOT")
NOT_WRITABLE = re.compile(r"Permission denied|Read-only file system|EROFS")
DELTA_FAILED = re.compile(r"\b_internal\.\w+Error: |deltalake[/.]|\bthe Delta table \S+ can't be read")

KAFKA_AWAY = re.compile(
    r"KafkaTimeoutError|KafkaConnectionError|Unable to bootstrap|no broker answers|could not be read to its end"
    r"|org\.apache\.kafka\.common\.errors\.(?:Timeout|Disconnect|Network)\w*"
)

DIGEST_KEY = re.compile(r"SettingsError: (?:digest_key_file |CLIENTSCOPE_DIGEST_KEY)")
"""Our own words, out of a Python worker."""

WORKERS_DIE = re.compile(r"Python worker exited unexpectedly|MemoryError|PythonException|ExecutorLostFailure")

OF_THE_QUERY = "=== Streaming Query ==="
"""What follows says which query failed, and its plan."""

OF_PYTHON, CAUSED_BY = "An exception was raised by the Python Proxy", "Caused by: "
"""Beginnings of lines: of Py4J, where a sink's Python raised; of a JVM's stack trace."""


class Failure(NamedTuple):
    """Why a query doesn't run.

    Attributes:
        cause: one line, from Spark or from what was raised; it may name paths and hosts.
        kind: what happened, in words that stay the same while it lasts; no more than findings may say.
        hint: what to do; empty where only the log can say.
        lasting: whether the next attempt will fail too unless a person acts.
        fatal_record: whether a single record may be what its workers die of.
    """

    cause: str
    kind: str = "it failed"
    hint: str = "see the job's log"
    lasting: bool = False
    fatal_record: bool = False


_KNOWN = (
    (RECORDS_GONE, Failure("", "records that it has not read are gone from its topic", "it continues behind them")),
    (
        DISK_FULL,
        Failure("", "a disk is full", "make room where --history-dir, --checkpoint-dir and Spark's local files are; it then continues"),
    ),
    (
        NOT_WRITABLE,
        Failure("", "it may not write its files", "let the job's user write below --history-dir and --checkpoint-dir; it then continues"),
    ),
    (
        DELTA_FAILED,
        Failure("", "its Delta table can't be read or written", "see the job's log, and restore the table from a backup; docs/history.md"),
    ),
    (
        KAFKA_AWAY,
        Failure(
            "", "Kafka doesn't answer", "is the broker up, and --bootstrap-servers its INTERNAL listener? it continues once Kafka answers"
        ),
    ),
    (
        DIGEST_KEY,
        Failure("", "an executor has no digest key, or another one", "give each machine the same key; docs/cluster.md", lasting=True),
    ),
    (
        WORKERS_DIE,
        Failure("", "its workers die", "the record that does it is searched and quarantined; docs/cluster.md", fatal_record=True),
    ),
)

_RAISED = re.compile(r"[A-Za-z_][\w.]*: ")
"""A line of a traceback that names what was raised."""


def understood(failed: str | BaseException) -> Failure:
    """What a failure means.

    Args:
        failed: as Spark tells it, with the stack traces of a JVM and of Python; or what was raised here.
    """
    if isinstance(failed, ClientscopeError) and not isinstance(failed, EnvironmentProblem):
        return Failure(str(failed)[:500], "it can't continue", failed.hint or Failure("").hint, lasting=True)
    text = str(failed) if isinstance(failed, str | ClientscopeError) else f"{type(failed).__name__}: {failed}"
    known = next((failure for pattern, failure in _KNOWN if pattern.search(text)), Failure(""))
    return known._replace(cause=cause_in(text))


def cause_in(text: str) -> str:
    """What failed, in a line, and what that was caused by in the end: ``… Task failed …: java.io.IOException: No space left on device``.

    Args:
        text: as Spark tells it, with the stack traces of a JVM and of Python. An error raised in a sink's Python follows a first line that
            only says that it is Python's.
    """
    lines = text.strip().splitlines()
    what = lines[0] if lines else "without a cause"
    if what.startswith(OF_PYTHON):
        raised = [line for line in text.partition(OF_THE_QUERY)[0].splitlines() if _RAISED.match(line)]
        of_the_jvm = [line[2:] for line in lines if line.startswith(": ")]
        what = next(iter([*of_the_jvm, *reversed(raised)]), what)
    causes = [line.strip().removeprefix(CAUSED_BY) for line in lines if line.strip().startswith(CAUSED_BY)]
    return what[:500] if not causes or causes[-1] in what else f"{what[:300]}: {causes[-1][:200]}"
