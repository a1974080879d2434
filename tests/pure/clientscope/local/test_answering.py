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

Starts = Callable[[str], AnsweringProcess]


@pytest.fixture
def starts() -> Iterator[Starts]:
    started: list[AnsweringProcess] = []

    def start(program: str) -> AnsweringProcess:
        command = [sys.executable, "-c", program]
        started.append(AnsweringProcess(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)))
        return started[-1]

    yield start
    for process in started:
        process.end()


def gone(process: AnsweringProcess) -> bool:
    return not Path(f"/proc/{process.pid}").exists()


def test_each_question_has_its_answer(starts: Starts) -> None:
    process = starts(ECHO)
    for question in ({"a": [1, None, "é\n"]}, [], "text", 0):
        assert process.ask(question, FOREVER) == question
    process.end()
    assert gone(process)
    process.end()  # a second time changes nothing
    process.kill()


def test_a_process_without_an_answer_at_the_deadline_is_killed(starts: Starts) -> None:
    process = starts("import sys\nsys.stdin.readline()\nsys.stdin.readline()")
    with pytest.raises(NoReply) as raised:
        process.ask({}, 0.05)
    assert raised.value.late
    assert gone(process)


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
    with pytest.raises(NoReply) as raised:
        process.ask({}, FOREVER)
    assert not raised.value.late
    assert gone(process)


def test_a_question_that_is_longer_than_the_pipe_ends_with_its_process(starts: Starts) -> None:
    process = starts("import time\ntime.sleep(60)")
    with pytest.raises(NoReply) as raised:
        process.ask("x" * 1_000_000, 0.5)
    assert raised.value.late
    assert gone(process)


def test_another_thread_ends_a_question(starts: Starts) -> None:
    process = starts(ECHO)
    process.ask(1, FOREVER)
    os.kill(process.pid, signal.SIGSTOP)
    killer = threading.Timer(0.05, process.kill)
    killer.start()
    with pytest.raises(NoReply) as raised:
        process.ask(2, FOREVER)
    killer.join()
    assert not raised.value.late


def test_an_answer_in_time_leaves_no_deadline_behind(starts: Starts) -> None:
    process = starts(ECHO)
    process.ask(1, FOREVER)
    assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer) and not thread.finished.is_set()]


def test_what_is_no_json_is_asked_nothing(starts: Starts) -> None:
    process = starts(ECHO)
    with pytest.raises(TypeError):
        process.ask(object(), FOREVER)
    assert process.ask(1, FOREVER) == 1


def test_the_environment_has_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIENTSCOPE_KAFKA_SASL_PASSWORD", "canary")
    monkeypatch.setenv("HOME", "/root-canary")
    monkeypatch.setenv("TZ", "UTC")
    environment = environment_without_secrets(OMP_NUM_THREADS="1")
    assert "canary" not in str(environment)
    assert (environment["HOME"], environment["TZ"], environment["OMP_NUM_THREADS"]) == ("/nonexistent", "UTC", "1")
