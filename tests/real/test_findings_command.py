"""``clientscope findings`` against a real broker: the list shows the topic of findings, and decisions are written to the other."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from forked import clientscope
from made_findings import leak, made
from observe import newest, read_all

from clientscope.kafka.writer import TopicWriter
from clientscope.model.codec import decode, encode_whole
from clientscope.model.decision import Decision
from clientscope.model.finding import Finding
from clientscope.model.topics import DECISIONS, FINDINGS

NEXT_MONTH = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()

SETTING, LEAK, GONE = made(0xA1A1A1A1), leak(0xB2B2B2B2), made(0xC3C3C3C3)


@pytest.fixture(scope="module")
def cluster(broker: Any) -> Iterator[str]:
    """A broker whose topic holds an older version of a finding, two that are open, one that was forgotten, and one that is none."""
    older: dict[str, bytes | None] = {SETTING.fingerprint: encode_whole(made(0xA1A1A1A1, state="resolved"))}
    values: dict[str, bytes | None] = {each.fingerprint: encode_whole(each) for each in (SETTING, LEAK, GONE)}
    of_others = {key.decode(): None for key in newest(broker.internal, FINDINGS)}  # other modules' tests have written there
    with closing(TopicWriter(broker.internal, FINDINGS)) as writer:
        for records in (of_others, older, values, {GONE.fingerprint: None}, {"broken": b"{"}):
            writer.write(records)
        yield broker.internal
        writer.write(dict.fromkeys((*values, "broken")))


def run(cluster: str, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    ended = clientscope("findings", *words, "--bootstrap-servers", cluster, LOGNAME="grace", COLUMNS="200")
    assert ended.returncode == status, ended.stderr
    return ended


def decided(cluster: str) -> list[Any]:
    """What this module wrote, in order."""
    return [record for record in read_all(cluster, DECISIONS) if record.key.decode() in (SETTING.fingerprint, LEAK.fingerprint)]


def test_the_newest_of_each_is_listed_and_only_data_is_on_stdout(cluster: str) -> None:
    ended = run(cluster, "-o", "jsonl")
    assert [decode(Finding, line.encode()) for line in ended.stdout.splitlines()] == [LEAK, SETTING]
    assert ended.stderr == "1 record of clientscope.findings can't be read; ignored\n"
    ended = run(cluster, "list", "-o", "name", "--limit", "1")
    assert ended.stdout == f"{LEAK.fingerprint}\n"
    assert ended.stderr.splitlines()[1:] == ["1 more; raise --limit to see them"]
    table = run(cluster).stdout.splitlines()
    assert [line.split()[:2] for line in table] == [["SEVERITY", "CODE"], ["critical", "SK001"], ["high", "AN101"]]


def test_decisions_are_written_and_taken_back(cluster: str) -> None:
    before = len(decided(cluster))
    refused = run(cluster, "close", "b2b2b2", "a1a1a1", "--as", "rotated", "--why", "new since Monday", status=2)
    assert "a1a1a1a1 (AN101) is not a leak" in refused.stderr
    assert len(decided(cluster)) == before, "one that doesn't fit, and nothing is written"

    closed = run(cluster, "close", "b2b2b2", "--as", "rotated", "--why", "new since Monday", "--by", "ada")
    assert closed.stdout == f"closed {LEAK.fingerprint} as rotated: {LEAK.message}\n"
    assert "the next push of the same secret reopens the finding" in closed.stderr
    run(cluster, "close", "a1a1a1", "b2b2b2", "b2b2b2b2", "--as", "accepted", "--until", NEXT_MONTH, "--why", "until the migration")
    first, *others = decided(cluster)[before:]
    assert (first.key.decode(), decode(Decision, first.value).by) == (LEAK.fingerprint, "ada")
    assert [decode(Decision, record.value).until for record in others] == 2 * [date.fromisoformat(NEXT_MONTH)]
    assert {decode(Decision, record.value).by for record in others} == {"grace"}

    run(cluster, "reopen", "a1a1a1", "b2b2b2", "--why", "the migration is off")
    tombstones = decided(cluster)[before + 3 :]
    assert {record.key.decode() for record in tombstones} == {SETTING.fingerprint, LEAK.fingerprint}
    assert [(record.value, dict(record.headers)) for record in tombstones] == 2 * [(None, {"by": b"grace", "why": b"the migration is off"})]
    assert "has no decision" in run(cluster, "reopen", "a1a1a1", "--why", "again", status=2).stderr
