"""F47: Spark's report of a failure becomes a line with what happened and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from clientscope.errors import ClientscopeError, EnvironmentProblem
from clientscope.model.topics import CONFIGS
from streaming.checkpoints.topics_now import Offsets
from streaming.failures import cause_in, understood
from streaming.fatal_records import failed_range

OF_A_SINK = """An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
py4j.protocol.Py4JJavaError: An error occurred while calling o1395.save.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/data/pushes. SQLSTATE: 58030
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailedWhileWritingRowsError(QueryExecutionErrors.scala:843)
Caused by: org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device
\tSuppressed: org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device
\t\tCaused by: java.io.IOException: No space left on device
\t... 58 more
"""

OF_DELTA_RS = """An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "sinks/history/batches.py", line 43, in append
    write_deltalake(
_internal.DeltaError: Generic LocalFileSystem error: Unable to copy data to file: %s

=== Streaming Query ===
Identifier: history_pushes [id = 27006555-d9be-4e06-b749-f46c4a3fa901, runId = 4452b73c-d529-4274-a54a-63336767b794]
Current State: ACTIVE

Logical Plan:
~WriteToMicroBatchDataSourceV1 ForeachBatchSink, 27006555-d9be-4e06-b749-f46c4a3fa901, [queryName=history_pushes]
"""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            OF_A_SINK,
            "org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/data/pushes. SQLSTATE: 58030"
            ": java.io.IOException: No space left on device",
        ),
        (OF_A_SINK.split("py4j.", maxsplit=1)[0] + "OverflowError: year 10000\n", "OverflowError: year 10000"),
        (
            OF_DELTA_RS % "No space left on device (os error 28)",
            "_internal.DeltaError: Generic LocalFileSystem error: Unable to copy data to file: No space left on device (os error 28)",
        ),
        ("Job aborted.\n\tat x\nCaused by: java.io.IOException: disk", "Job aborted.: java.io.IOException: disk"),
        ("[CODE] broken\nmore", "[CODE] broken"),
        ("java.io.IOException: disk\nCaused by: java.io.IOException: disk", "java.io.IOException: disk"),
        ("", "without a cause"),
    ],
)
def test_f40_what_failed_is_named_with_what_it_was_caused_by(text: str, cause: str) -> None:
    assert cause_in(text) == cause
    assert len(cause_in(text * 100)) <= 502


_STORE = "file:/checkpoints/gauges/v1/state/0/0/18.changelog"
GONE, DAMAGED = "records that it has not read are gone", "its checkpoint is damaged"


@pytest.mark.parametrize(
    ("failed", "kind", "hint", "lasting"),
    [  # what Spark 4.2.0 and kafka-python 3 say, each taken from a query that failed so
        (
            "Some data may have been lost because they are not available in Kafka any more;\n"
            "either the data was aged out by Kafka or the topic may have been deleted before all the data in the\ntopic was processed.",
            GONE,
            "new checkpoint",
            False,
        ),
        (
            f"[CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE] An error occurred during loading state. Error reading streaming"
            f" state file of {_STORE} does not exist. If the stream job is restarted with a new or updated state operation, please create"
            " a new checkpoint location or clear the existing checkpoint location. SQLSTATE: 58030",
            DAMAGED,
            "new checkpoint",
            False,
        ),
        (
            "[STREAMING_CHECKPOINT_MISSING_METADATA_FILE] Checkpoint location file:/checkpoints/gauges/v1 is in an inconsistent state: the"
            " metadata file is missing but offset and/or commit logs contain data.",
            DAMAGED,
            "new checkpoint",
            False,
        ),
        ("Checksum error: file:/checkpoints/gauges/v1/offsets/17 at 512 exp: 1207910186 got: 1724123156", DAMAGED, "new checkpoint", False),
        ("Failed to read log file file:/checkpoints/gauges/v1/offsets/17. Incomplete log file", DAMAGED, "new checkpoint", False),
        ("Unexpected end-of-input in field name\n=== Streaming Query ===\nCurrent State: INITIALIZING", DAMAGED, "new checkpoint", False),
        ("Unexpected character in a client's record\nCurrent State: ACTIVE", "it failed", "see the job's log", False),
        ("batch 16 doesn't exist", DAMAGED, "new checkpoint", False),
        (OF_A_SINK, "a disk is full", "make room", False),
        (OF_DELTA_RS % "No space left on device (os error 28)", "a disk is full", "make room", False),
        (OF_DELTA_RS % "Permission denied (os error 13)", "it may not write its files", "let the job's user write", False),
        (OF_DELTA_RS % "a checksum", "its Delta table can't be written", "restore the table", False),
        (OSError(28, "No space left on device"), "a disk is full", "make room", False),
        (OSError(30, "Read-only file system"), "it may not write its files", "let the job's user write", False),
        (
            "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment. Call: describeTopics",
            "Kafka doesn't answer",
            "is the broker up",
            False,
        ),
        (EnvironmentProblem("no broker answers at 127.0.0.1:1 by PLAINTEXT", "x"), "Kafka doesn't answer", "is the broker up", False),
        (TimeoutError("clientscope.gauges could not be read to its end"), "Kafka doesn't answer", "is the broker up", False),
        (
            "Lost task 0.0: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)",
            "its workers die",
            "quaranti",
            False,
        ),
        (
            "[PYTHON_EXCEPTION] PythonException: Traceback (most recent call last):\n"
            "clientscope.errors.SettingsError: digest_key_file /etc/digest.key: No such file or directory",
            "an executor has no digest key",
            "the same key",
            True,
        ),
        (ClientscopeError("11 records", "update"), "it can't continue", "update", True),
        (ClientscopeError("11 records"), "it can't continue", "see the job's log", True),
    ],
)
def test_f47_a_failure_says_what_happened_and_what_to_do(failed: str | BaseException, kind: str, hint: str, lasting: bool) -> None:
    failure = understood(failed)
    assert (failure.kind.startswith(kind), hint in failure.hint, failure.lasting) == (True, True, lasting), failure
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
