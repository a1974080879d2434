"""Words by which failures are recognised that Spark, delta-rs, Kafka and the system report: their error conditions where there are such.

Read from Spark 3.5.9, 4.0.5, 4.1.4 and 4.2.0. A failure that none of these matches is reported in its own first line, and is retried.
"""

from __future__ import annotations

import re

RECORDS_GONE = re.compile(r"KAFKA_DATA_LOSS|OffsetOutOfRangeException|Some data may have been lost because")

CHECKPOINT_DAMAGED = re.compile(
    # Spark names no condition for a log or a state file that is damaged: Hadoop's checksums and its own parsers fail.
    r"CANNOT_LOAD_STATE_STORE|STATE_STORE_\w*(?:INCOMPATIBLE|NOT_COMPATIBLE|NOT_FOUND|MISMATCH|INVALID|NOT_EMPTY|FAILURE)"
    r"|BATCH_METADATA_NOT_FOUND|CHECKPOINT_|STREAMING_CHECKPOINT_MISSING_METADATA_FILE|INVALID_LOG_VERSION|MALFORMED_LOG_FILE"
    r"|Failed to read log file|batch \d+ doesn't exist|Checksum error: \S*/(?:metadata|(?:offsets|commits|sources|state)/)"
    # Jackson's and json4s' words, where a query fails before it reads anything but its own logs.
    r"|(?s:(?:Unexpected (?:end-of-input|character|close marker)|Unrecognized token|No content to map|No usable value for)"
    r".*Current State: INITIALIZING)"
    r"|\bCheckpointOlder\b"  # our own (`sinks.history.batches`)
)

TWO_WRITERS = re.compile(r"CONCURRENT_STREAM_LOG_UPDATE")
DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded|ENOSPC|EDQUOT")
NOT_WRITABLE = re.compile(r"Permission denied|Read-only file system|EROFS")
DELTA_FAILED = re.compile(r"\b_internal\.\w+Error: |deltalake[/.]")

KAFKA_AWAY = re.compile(
    r"KafkaTimeoutError|KafkaConnectionError|Unable to bootstrap|no broker answers|could not be read to its end"
    r"|org\.apache\.kafka\.common\.errors\.(?:Timeout|Disconnect|Network)\w*"
)

DIGEST_KEY = re.compile(r"SettingsError: (?:digest_key_file |CLIENTSCOPE_DIGEST_KEY)")
"""Our own words, out of a Python worker."""

WORKERS_DIE = re.compile(r"Python worker exited unexpectedly|MemoryError|PythonException|ExecutorLostFailure")

OF_THE_QUERY = "=== Streaming Query ==="
"""What follows says which query failed, where it was, and its plan."""

COMMITTED, AVAILABLE = (re.compile(rf"Current {which} Offsets: \{{[^{{}}]*: (\{{.*\}})\}}") for which in ("Committed", "Available"))
"""Offsets of the one Kafka source of a query, as Spark adds them to its failure: from where and to where its last batch was to read."""

OF_PYTHON, CAUSED_BY = "An exception was raised by the Python Proxy", "Caused by: "
"""Beginnings of lines: of Py4J, where a sink's Python raised; of a JVM's stack trace."""
