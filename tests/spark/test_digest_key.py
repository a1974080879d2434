"""The digest key is in nothing that Spark sends to its workers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import DataFrame
from record_bytes import Records, config_record, connection_record, setting

from clientscope.digest import DigestKey
from clientscope.records.topics import CONFIGS, CONNECTIONS
from streaming import transforms
from streaming.failures import understood
from streaming.transforms import arrivals, entries, results

STEPS: dict[str, Callable[[DataFrame, DigestKey], DataFrame]] = {
    "results": results, "pushes": transforms.pushes, "connections": transforms.connections, "gauges": entries, "findings": arrivals,
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
def test_no_pickled_function_has_the_key(records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    secret, file = b"0123456789abcdef" * 4, tmp_path / "digest.key"
    file.touch(0o600)
    file.write_bytes(secret)
    sent: list[bytes] = []
    dumps = CloudPickleSerializer.dumps

    def seen(self: CloudPickleSerializer, function: object) -> bytes:
        sent.append(dumps(self, function))
        return sent[-1]

    monkeypatch.setattr(CloudPickleSerializer, "dumps", seen)
    of_pushes = step in ("results", "pushes", "findings")
    rows = records(CONFIGS, config_record(setting("token", "hunter2"))) if of_pushes else records(CONNECTIONS, connection_record(0))
    assert len(STEPS[step](rows, DigestKey.read(file)).collect()) == 1
    assert any(str(file.name).encode() in each for each in sent), "the function was among them"
    assert not [each for each in sent if secret in each]


def test_a_machine_without_the_key_is_named_as_what_is_wrong(records: Records, tmp_path: Path) -> None:
    file = tmp_path / "digest.key"
    file.touch(0o600)
    file.write_bytes(b"k" * 32)
    rows = results(records(CONFIGS, config_record(setting("token", "hunter2"))), DigestKey.read(file))
    file.unlink()
    with pytest.raises(Exception, match=r"digest_key_file \S+: No such file") as failed:
        rows.collect()
    failure = understood(str(failed.value))
    assert (failure.kind, failure.lasting, failure.fatal_record) == ("an executor has no digest key, or another one", True, False)
