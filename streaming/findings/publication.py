"""Publication of a finding's record: at once if readers need it, and for counts from time to time."""

from __future__ import annotations

from clientscope.findings.record import Finding
from streaming.findings.entry import FindingEntry

COUNTS_EVERY_MS = 30_000
"""How often a record is written again because only counts and times have changed."""

KEEP_MS = 30 * 24 * 60 * 60_000
"""For how long a finding stays on the topic after it was resolved or closed."""


def is_outdated(entry: FindingEntry, record: Finding, now_ms: int) -> bool:
    """Whether the topic is to lose it: it ended long ago, and no connected client has it.  A secret that stopped waits for a person."""
    ended_ms = max(record.ended_ms or now_ms, record.last_seen_ms)
    over = record.state in ("resolved", "closed") and not record.client_count
    return entry.published is not None and over and now_ms - ended_ms > KEEP_MS


def is_due(entry: FindingEntry, record: Finding, now_ms: int) -> bool:
    """Whether the record is to be written in place of the one that was published."""
    before = entry.published
    if before is None or _at_once(record) != _at_once(before):
        return True
    return now_ms - entry.published_at_ms >= COUNTS_EVERY_MS and _counts(record) != _counts(before)


def is_behind(entry: FindingEntry, record: Finding) -> bool:
    """Whether the topic has other counts or times than the record."""
    return entry.published is None or _counts(record) != _counts(entry.published)


def _at_once(record: Finding) -> tuple[object, ...]:
    known = record.state, record.severity, record.code, record.message, record.settings, record.evidence
    return *known, record.alert, record.decided, record.suppressed, record.reopened


def _counts(record: Finding) -> tuple[object, ...]:
    return record.client_count, record.last_seen_ms, record.places, record.reach, record.clients, record.owner
