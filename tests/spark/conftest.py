"""One Spark session for all tests that need one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from record_bytes import Records

from clientscope.config import StreamSettings
from clientscope.digest import DigestKey
from clientscope.local.jars import jars
from streaming.releases import installed
from streaming.session import session

START = datetime(2026, 1, 2, 23, 59, 59, tzinfo=UTC)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """As the job makes it."""
    settings = StreamSettings(bootstrap_servers="127.0.0.1:1", history_dir=tmp_path_factory.mktemp("history"), driver_memory="1g")
    spark = session(settings, jars(installed().jars))
    yield spark
    spark.stop()


@pytest.fixture(scope="session")
def digest_key(tmp_path_factory: pytest.TempPathFactory) -> DigestKey:
    """In a file, where Python workers find it."""
    file = tmp_path_factory.mktemp("keys") / "digest.key"
    file.touch(0o600)
    file.write_bytes(b"k" * 32)
    return DigestKey.read(file)


@pytest.fixture
def records(spark: SparkSession) -> Records:
    """Makes a DataFrame as ``streaming.sources.records`` does: offsets from 0, a record each second from `START` or at these times."""

    def make(topic: str, *values: bytes | None, times: Sequence[datetime] = ()) -> DataFrame:
        at = times or [START + timedelta(seconds=offset) for offset in range(len(values))]
        rows = [(value, topic, 0, offset, at[offset], b"key") for offset, value in enumerate(values)]
        return spark.createDataFrame(rows, "value binary, topic string, partition int, offset long, timestamp timestamp, key binary")

    return make


@pytest.fixture
def plan_of(capsys: pytest.CaptureFixture[str]) -> Callable[[DataFrame], str]:
    """Says how Spark would make a DataFrame, an operator in each line."""

    def explain(rows: DataFrame) -> str:
        capsys.readouterr()
        rows.explain()
        return capsys.readouterr().out

    return explain
