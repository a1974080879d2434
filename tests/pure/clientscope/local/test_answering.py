"""local/answering: questions and answers over a pipe, and every way in which an answer fails to come."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clientscope.local.answering import AnsweringProcess, NoReply, environment_without_secrets

ECHO = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"
FOREVER = 60.0

Starts = Callable[..., AnsweringProcess]


@pytest.fixture
def starts() -> Iterator[Starts]:
    started: list[AnsweringProcess] = []
    children: list[subprocess.Popen[bytes]] = []

    def start(program: str, deadline_s: float = FOREVER) -> AnsweringProcess:
        def child() -> subprocess.Popen[bytes]:
            children.append(subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            return children[-1]

        started.append(AnsweringProcess(child, deadline_s))
        return started[-1]

    yield start
    for process in started:
        process.close()
    assert children and None not in [child.returncode for child in children], "each has ended, and was waited for"


def test_each_question_has_its_answer(starts: Starts) -> None:
    process = starts(ECHO)
    for question in ({"a": [1, None, "é\n"]}, [], "text", 0):
        assert process.ask(question) == question
    pid = process.pid
    process.close()
    assert process.pid is None and not Path(f"/proc/{pid}").exists()
    process.close()  # a second time changes nothing
    with pytest.raises(NoReply):
        process.ask(1)


def test_a_process_without_an_answer_at_the_deadline_is_killed(starts: Starts) -> None:
    process = starts("import sys\nsys.stdin.readline()\nsys.stdin.readline()", 0.05)
    with pytest.raises(NoReply, match="late"):
        process.ask({})
    assert process.pid is None


@pytest.mark.parametrize(
    "program",
    [
        "",
        "import sys\nsys.stdin.readline()",
        "import sys\nsys.stdin.readline()\nprint('no JSON', flush=True)\nsys.stdin.read()",
        "import sys\nsys.stdin.readline()\nprint('[1, 2', flush=True)",
        r"import sys; sys.stdin.readline(); sys.stdout.buffer.write(b'\"\xff\"\n')",
    ],
    ids=["ends at once", "ends without an answer", "no JSON", "half an answer", "no UTF-8"],
)
def test_what_is_no_answer_ends_the_process(starts: Starts, program: str) -> None:
    process = starts(program)
    with pytest.raises(NoReply, match="ended"):
        process.ask({})
    assert process.pid is None


def test_a_question_that_is_longer_than_the_pipe_ends_with_its_process(starts: Starts) -> None:
    process = starts("import time\ntime.sleep(60)", 0.5)
    with pytest.raises(NoReply, match="late"):
        process.ask("x" * 1_000_000)
    assert process.pid is None


def test_another_thread_ends_a_question(starts: Starts) -> None:
    process = starts(ECHO)
    process.ask(1)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGSTOP)
    closing = threading.Timer(0.05, process.close)
    closing.start()
    with pytest.raises(NoReply, match="ended"):
        process.ask(2)
    closing.join()


def test_an_answer_in_time_leaves_no_deadline_behind(starts: Starts) -> None:
    process = starts(ECHO)
    process.ask(1)
    assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer) and not thread.finished.is_set()]


def test_what_is_no_json_is_asked_nothing(starts: Starts) -> None:
    process = starts(ECHO)
    with pytest.raises(TypeError):
        process.ask(object())
    assert process.ask(1) == 1


def test_the_environment_has_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIENTSCOPE_KAFKA_SASL_PASSWORD", "canary")
    monkeypatch.setenv("HOME", "/root-canary")
    monkeypatch.setenv("TZ", "UTC")
    environment = environment_without_secrets(OMP_NUM_THREADS="1")
    assert "canary" not in str(environment)
    assert (environment["HOME"], environment["TZ"], environment["OMP_NUM_THREADS"]) == ("/nonexistent", "UTC", "1")
