"""F47: Spark's report of a failure becomes a line with what happened and what to do."""

from __future__ import annotations

from typing import Any

import pytest
from golden import texts

from clientscope.errors import ClientscopeError, EnvironmentProblem
from clientscope.model.topics import CONFIGS
from streaming.checkpoints.topics_now import Offsets
from streaming.failures import cause_in, understood
from streaming.fatal_records import failed_range


@pytest.mark.parametrize(("cause", "text"), texts(__file__, "causes.txt"))
def test_f40_what_failed_is_named_with_what_it_was_caused_by(cause: str, text: str) -> None:
    assert cause_in(text) == cause
    assert len(cause_in(text * 100)) <= 502


GONE, DAMAGED = "records that it has not read are gone", "its checkpoint is damaged"


RAISED: list[tuple[str, str, bool, BaseException]] = [
    ("a disk is full", "make room", False, OSError(28, "No space left on device")),
    ("it may not write its files", "let the job's user write", False, OSError(30, "Read-only file system")),
    ("Kafka doesn't answer", "is the broker up", False, EnvironmentProblem("no broker answers at 127.0.0.1:1 by PLAINTEXT", "x")),
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
    assert (failure.records_gone, failure.checkpoint_damaged) == (kind == GONE, kind == DAMAGED)


OF_SPARK = """Job aborted due to stage failure
=== Streaming Query ===
Identifier: results [id = d91a0acd-c2ec-40c7-9790-9e3cd4ad91b7, runId = acbaed00-4a57-42a6-b532-223264b9edc0]
Current Committed Offsets: %s
Current Available Offsets: {KafkaV2[Subscribe[clientscope.configs]]: {"clientscope.configs":{"1":3,"0":9}}}

Current State: ACTIVE
Thread State: RUNNABLE
"""


@pytest.mark.parametrize(
    ("committed", "position", "range_"),
    [
        (
            '{KafkaV2[Subscribe[clientscope.configs]]: {"clientscope.configs":{"0":5,"1":3}}}',
            {CONFIGS: {0: 5, 1: 3}},
            {(CONFIGS, 0): (5, 9)},
        ),
        ("{}", None, {(CONFIGS, 0): (0, 9), (CONFIGS, 1): (0, 3)}),
        ('{KafkaV2[Subscribe[x]]: {"x":5}}', None, {(CONFIGS, 0): (0, 9), (CONFIGS, 1): (0, 3)}),
    ],
)
def test_f21_spark_says_where_the_failed_batch_began_and_ended(committed: str, position: Offsets | None, range_: Any) -> None:
    failure = understood(OF_SPARK % committed)
    assert (failure.position, failed_range(failure)) == (position, range_)
    assert failed_range(understood("it failed")) == {}
