"""The process that validates samples, by itself: its limits, and its end."""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path

import pytest
from observe import is_gone
from patience import until
from programs import python
from quality_batches import append, pushes

from clientscope.records.topics import CONFIGS
from sinks.quality.asking import CheckingProcess, ProcessFailed


def test_a_process_that_is_killed_fails_one_look(tmp_path: Path) -> None:
    """As the kernel does where memory is short; its own limit is below that of the machine."""
    process = CheckingProcess(str(tmp_path))
    try:
        append(tmp_path, CONFIGS, pushes())
        (first,) = process.look({CONFIGS: 0})["validated"]
        assert (first["rows"], first["error"]) == (50, "")
        assert process.process_id is not None
        soft, _ = resource.prlimit(process.process_id, resource.RLIMIT_DATA)
        assert 0 < soft <= 1 << 30
        os.kill(process.process_id, signal.SIGKILL)
        with pytest.raises(ProcessFailed) as raised:
            process.look({CONFIGS: 1})
        assert raised.value.cause == "ended"
        assert process.look({CONFIGS: 0})["validated"][0]["rows"] == 50
    finally:
        process.close()


def test_what_is_no_answer_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/true")
    process = CheckingProcess(str(tmp_path))
    with pytest.raises(ProcessFailed) as raised:
        process.look({CONFIGS: 0})
    assert raised.value.cause == "ended"
    assert process.process_id is None


def test_the_process_ends_with_the_thread_and_the_process_that_started_it(tmp_path: Path) -> None:
    script = (
        "import sys, os, signal\n"
        "from sinks.quality.asking import CheckingProcess\n"
        "process = CheckingProcess(sys.argv[1])\n"
        "process.look({})\n"
        "assert not any(m in sys.modules for m in ('great_expectations', 'scipy'))\n"
        "print(process.process_id, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    out = python("-c", script, tmp_path, status=None).stdout
    until(lambda: is_gone(int(out)))
