"""Program of the process that reads tables for serve: ``python -m sinks.dashboard.past.process FOLDER [OWNERS]``.

A question is a line of JSON on its standard input, ``{"question", "arguments"}``.  The answer is a line on its standard output, with
``answer`` or ``error``.  The process ends when its input does, or is killed when a question takes too long.  The live page goes first
where both want the CPU.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from clientscope import core_dumps
from clientscope.profiles import owners
from clientscope.query import QueryError
from sinks.dashboard.past.problems import Json, NoAnswer
from sinks.dashboard.past.questions import Questions
from sinks.dashboard.past.tables import Unreadable

_NICE = 5


def _answer(questions: Questions, line: bytes) -> Json:
    try:
        asked = json.loads(line)
        return {"answer": questions.answer(asked["question"], asked["arguments"])}
    except NoAnswer as problem:
        return _fault(problem)
    except QueryError as error:
        return {"error": {"detail": str(error), "position": error.position, "length": error.length, "expected": list(error.expected)}}
    except Exception as error:  # rows that are none of the job's, say: the next question may have an answer
        return _fault(Unreadable(f"{type(error).__name__}: {error}"))


def _fault(problem: NoAnswer) -> Json:
    reason = problem.reason if isinstance(problem, Unreadable) else ""
    return {"error": {"kind": problem.kind, "detail": str(problem), "hint": problem.hint or "", "reason": reason}}


def main() -> None:
    """Answers until its input ends."""
    os.nice(_NICE)
    with suppress(OSError):  # Linux: where memory runs out, this process goes rather than serve
        Path("/proc/self/oom_score_adj").write_text("1000")
    core_dumps.forbid()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    folder, *owners_file = sys.argv[1:]
    questions = Questions(folder, time.monotonic, owners.read_if_given(Path(owners_file[0]) if owners_file else None))
    for line in sys.stdin.buffer:
        answers.write(json.dumps(_answer(questions, line)).encode() + b"\n")
        answers.flush()
        pa.default_memory_pool().release_unused()


if __name__ == "__main__":
    main()
