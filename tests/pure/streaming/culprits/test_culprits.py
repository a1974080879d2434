"""Records that kill the process that decodes them: the failed batch's range, the child process that tries, and the list of places."""

from __future__ import annotations

from pathlib import Path

import deadly_kernels
import pyarrow as pa
import pytest
from record_bytes import config_record, connection_record, setting

from clientscope.digest import DigestKey
from streaming.culprits.probe import Probe
from streaming.queries.registry import QUERIES


def test_only_what_the_kernel_dies_of_is_named_and_nothing_is_said_of_it(capfd: pytest.CaptureFixture[str]) -> None:
    with Probe(deadly_kernels.kernel) as probe:
        assert probe.fatal([b"fine", b"x" * 16_000_000]) == []
        assert probe.fatal([b"fine", b"exit", b"fine too", b"raise", b"segfault", b"last"], most=2) == [1, 3]
        assert probe.fatal([b"fine"]) == [], "a new child has taken the dead one's place"
    captured = capfd.readouterr()
    assert "hunter2" not in captured.out + captured.err


def test_what_takes_too_long_or_too_much_memory_is_no_survivor() -> None:
    with Probe(deadly_kernels.kernel, deadline_s=0.5) as probe:
        assert probe.fatal([b"hang"]) == [0]
    with Probe(deadly_kernels.kernel, memory_bytes=400 * 1024 * 1024) as probe:
        assert probe.fatal([b"memory"]) == [0]


def test_a_child_that_does_not_start_is_no_verdict_on_a_record() -> None:
    with Probe(deadly_kernels.Unloadable()) as probe, pytest.raises(TimeoutError, match="doesn't start"):
        probe.fatal([b"fine"])


def test_where_no_record_dies_alone_none_is_blamed() -> None:
    with Probe(deadly_kernels.together) as probe:
        assert probe.fatal([b"a", b"b"]) == []


@pytest.mark.parametrize("query", [name for name, query in QUERIES.items() if query.kernel])
def test_the_queries_own_kernels_survive_good_records_and_bad(tmp_path: Path, query: str) -> None:
    values = [config_record(setting("acks", "all")), connection_record(0), b"", b"\0\0\xff", b"\0" * 40]
    made = QUERIES[query].kernel
    assert made is not None
    key = tmp_path / "digest.key"
    key.touch(0o600)
    key.write_bytes(b"k" * 32)
    kernel = made(DigestKey.read(key))
    kernel(pa.array(values, pa.binary()))  # in this process first, for a traceback should it fail
    with Probe(kernel) as probe:
        assert probe.fatal(values) == []
