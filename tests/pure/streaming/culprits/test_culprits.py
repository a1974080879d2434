"""Records that kill the process that decodes them: the failed batch's range, the child process that tries, and the list of places."""

from __future__ import annotations

import deadly_kernels
import pytest

from streaming.culprits.probe import Probe


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
