"""Progress of reading the topics, changes, and counts. Not locked: `sinks.dashboard.state.known.Known` is."""

from __future__ import annotations

from collections import Counter

from clientscope.api.common import Feed
from clientscope.api.overview import Progress


class FeedStatus:
    """The progress of reading.

    Attributes:
        detail: why it isn't live; None where it is.
        progress: while it catches up.
        was_live: whether it ever was; before that tables are incomplete.
        last_record_ms: Kafka's time of the newest record.
    """

    def __init__(self) -> None:
        self.now: Feed = "starting"
        self.detail: str | None = None
        self.progress: Progress | None = None
        self.was_live = False
        self.last_record_ms: int | None = None

    def became(self, now: Feed, detail: str | None = None, progress: Progress | None = None) -> bool:
        """Sets the progress; returns whether it has changed."""
        before = (self.now, self.detail, self.progress)
        self.now, self.detail, self.progress = now, detail, progress
        return before != (now, detail, progress)


class ChangeVersions:
    """Numbers that rise with each change, so that a caller that asks again knows whether there is news.

    Attributes:
        of: by topic, and ``checks``.
        last_change_ms: Kafka's time of the newest change that people look for.
    """

    def __init__(self) -> None:
        self.total = 0
        self.of: Counter[str] = Counter()
        self.last_change_ms: int | None = None

    def touch(self, what: str, at_ms: int | None) -> None:
        """Something changed.

        Args:
            at_ms: None for what is no news to people.
        """
        self.total += 1
        self.of[what] += 1
        if at_ms is not None:
            self.last_change_ms = max(at_ms, self.last_change_ms or 0)


class Agreement:
    """Whether two ways to the same numbers agree; a difference counts once it has lasted."""

    def __init__(self, patience_ms: int) -> None:
        self.disagree = False
        self._patience_ms = patience_ms
        self._since_ms: int | None = None

    def look(self, agree: bool, now_ms: int) -> bool:
        """Whether that changed what counts."""
        self._since_ms = None if agree else self._since_ms or now_ms
        before, self.disagree = self.disagree, not agree and now_ms - (self._since_ms or now_ms) >= self._patience_ms
        return before != self.disagree


class RecordCounts:
    """Records that were read, by topic, and those that can't be decoded, by topic and reason."""

    def __init__(self) -> None:
        self.records: Counter[str] = Counter()
        self.undecodable: Counter[tuple[str, str]] = Counter()
