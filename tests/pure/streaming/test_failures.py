"""F47: Spark's report of a failure becomes a line with what happened and what to do."""

from __future__ import annotations

import pytest
from golden import texts

from clientscope.errors import ClientscopeError, EnvironmentProblem
from streaming.failures import cause_in, understood


@pytest.mark.parametrize(("cause", "text"), texts(__file__, "causes.txt"))
def test_f40_what_failed_is_named_with_what_it_was_caused_by(cause: str, text: str) -> None:
    assert cause_in(text) == cause
    assert len(cause_in(text * 100)) <= 502


RAISED: list[tuple[str, str, bool, BaseException]] = [
    ("a disk is full", "make room", False, OSError(28, "No space left on device")),
    ("it may not write its files", "let the job's user write", False, OSError(30, "Read-only file system")),
    ("Kafka doesn't answer", "is the broker up", False, EnvironmentProblem("no broker answers at 127.0.0.1:1 by PLAINTEXT", "x")),
    ("its Delta table can't be read", "restore the table", False, EnvironmentProblem("the Delta table h/pushes can't be read: x", "y")),
    ("Kafka doesn't answer", "is the broker up", False, TimeoutError("clientscope.gauges could not be read to its end")),
    ("it can't continue", "update", True, ClientscopeError("11 records", "update")),
    ("it can't continue", "see the job's log", True, ClientscopeError("11 records")),
]


# The texts are what Spark 4.2.0 and kafka-python 3 say, each taken from a query that failed so.
@pytest.mark.parametrize(("kind", "hint", "lasting", "failed"), [*texts(__file__, "failures.txt"), *RAISED])
def test_f47_a_failure_says_what_happened_and_what_to_do(kind: str, hint: str, lasting: str | bool, failed: str | BaseException) -> None:
    failure = understood(failed)
    assert (failure.kind.startswith(kind), hint in failure.hint, failure.lasting) == (True, True, bool(lasting)), failure
    assert failure.cause and "\n" not in failure.cause
    assert failure.fatal_record == (kind == "its workers die")
