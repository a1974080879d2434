"""Start and size of a query's batches, and the options of their source."""

from __future__ import annotations

import ast
from pathlib import Path

import streaming
from clientscope.kafka.access import KafkaAccess
from streaming.sources import LIVE, Pace, sink_options, source_options

KAFKA = KafkaAccess("127.0.0.1:1")


def test_what_somebody_waits_for_begins_at_once() -> None:
    assert LIVE.options() == {"maxOffsetsPerTrigger": "50000"}


def test_history_waits_for_a_full_batch_or_its_time() -> None:
    """As much as it takes at most is what it waits for, so a backlog is never read a batch an interval."""
    assert Pace(50_000, 1.5).options() == {"maxOffsetsPerTrigger": "50000", "minOffsetsPerTrigger": "50000", "maxTriggerDelay": "1500ms"}


def test_no_source_waits_for_a_fetch_and_no_sink_warns() -> None:
    assert source_options(KAFKA)["kafka.fetch.max.wait.ms"] == "5"
    assert not [key for key in sink_options(KAFKA) if "fetch" in key], "a producer would warn of it"


def test_every_source_is_made_in_one_place() -> None:
    """Elsewhere a source would lack options that its latency, and a backlog's tasks, depend on."""
    folder = Path(streaming.__file__).parent
    reading = {
        file.relative_to(folder).as_posix()
        for file in folder.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and (node.attr == "readStream" or (node.attr == "read" and _is_session(node.value)))
    }
    assert reading == {"sources.py"}


def _is_session(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "spark") or (
        isinstance(node, ast.Attribute) and node.attr in ("spark", "sparkSession")
    )
