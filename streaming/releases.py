"""Releases of Spark that the job runs on, and what differs between them. Needs no Spark."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import metadata

from clientscope.errors import EnvironmentProblem

_STREAMING = "org.apache.spark.sql.execution.streaming"


@dataclass(frozen=True)
class SparkRelease:
    """A minor release.

    Attributes:
        minor: as in ``4.2``.
        tested: the patches that its internals were read from, and that tests run with.
        jars: configuration of ``clientscope/local/ivy.xml`` that has its Kafka connector.
        file_manager: the class of `spark.sql.streaming.checkpointFileManagerClass` that writes through Hadoop's FileSystem.
        json_offsets: whether PySpark's progress reports have Kafka's offsets as JSON.
    """

    minor: str
    tested: tuple[str, ...]
    jars: str
    file_manager: str = f"{_STREAMING}.FileSystemBasedCheckpointFileManager"
    json_offsets: bool = False


_SINCE_4_1 = f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"

RELEASES = (
    SparkRelease("3.5", ("3.5.9",), "spark-3.5"),
    SparkRelease("4.0", ("4.0.5",), "spark-4.0"),
    SparkRelease("4.1", ("4.1.4",), "spark-4.1", _SINCE_4_1),
    SparkRelease("4.2", ("4.2.0",), "spark", _SINCE_4_1, json_offsets=True),
)
"""From the oldest to the newest."""

MINORS = tuple(each.minor for each in RELEASES)


def release(version: str) -> SparkRelease:
    """The release that a version belongs to; the newest known one for a newer version.

    Args:
        version: as ``pyspark.__version__``, with whatever a vendor appends: ``3.5.6+amzn.1``.

    Raises:
        EnvironmentProblem: it is older than the oldest.
    """
    number = _number(version)
    older = [each for each in RELEASES if _number(each.minor) <= number]
    if not older:
        raise EnvironmentProblem(f"Spark {version} is too old", f"the job needs Spark {MINORS[0]} or newer")
    return older[-1]


def installed() -> SparkRelease:
    """The release of the PySpark that is installed.

    Raises:
        EnvironmentProblem: it is older than the oldest, or there is none.
    """
    try:
        return release(metadata.version("pyspark"))
    except metadata.PackageNotFoundError:
        raise EnvironmentProblem("PySpark is not installed", "pip install 'clientscope[stream]'") from None


def untested(version: str) -> str:
    """A sentence for a version that no test runs with; empty for others. Other patches of a known release are taken as tested."""
    if _number(version) == _number(release(version).minor):
        return ""
    return f"Spark {version} was not tested; the newest release that was is {MINORS[-1]}"


def _number(version: str) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)
