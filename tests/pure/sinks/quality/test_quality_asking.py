"""The process that validates samples, by itself: its limits, and its end."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import pytest
from observe import is_gone
from patience import until
from programs import python
from quality_batches import append, pushes

from clientscope.local.answering import NoReply
from clientscope.model.topics import CONFIGS
from sinks.quality.process import checking_process


def test_a_process_that_is_killed_fails_one_look(tmp_path: Path) -> None:
    """As the kernel does where memory is short; its own limit is below that of the machine."""
    process = checking_process(str(tmp_path))
    try:
        append(tmp_path, CONFIGS, pushes())
        (first,) = process.ask({CONFIGS: 0})["validated"]
        assert (first["rows"], first["error"]) == (50, "")
        assert process.pid is not None
        soft, _ = resource.prlimit(process.pid, resource.RLIMIT_DATA)
        assert 0 < soft <= 1 << 30
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(NoReply, match="ended"):
            process.ask({CONFIGS: 1})
        assert process.ask({CONFIGS: 0})["validated"][0]["rows"] == 50
    finally:
        process.close()


def test_the_process_ends_with_the_thread_and_the_process_that_started_it(tmp_path: Path) -> None:
    script = (
        "import sys, os, signal\n"
        "from sinks.quality.process import checking_process\n"
        "process = checking_process(sys.argv[1])\n"
        "process.ask({})\n"
        "assert not any(m in sys.modules for m in ('great_expectations', 'scipy'))\n"
        "print(process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    out = python("-c", script, tmp_path, status=None).stdout
    until(lambda: is_gone(int(out)))
