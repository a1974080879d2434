"""Decisions about findings from the page: the checks of ``clientscope findings close``, then a record."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from fastapi import HTTPException

from clientscope import topics
from clientscope.api.findings import DecisionTaken
from clientscope.errors import EnvironmentProblem, SettingsError
from clientscope.kafka.access import Kafka
from clientscope.model.codec import encode_whole
from clientscope.model.decision import Resolution
from clientscope.model.finding import Finding
from clientscope.model.topics import DECISIONS
from clientscope.report.deciding import Closing, reason, require_decided, write

_CLIENT_ID = "clientscope-serve-decisions"


Write = Callable[[str, bytes | None, Mapping[str, str]], None]
"""Writes a decision under its fingerprint, with headers, and returns once it is kept; None takes a decision back.

Raises EnvironmentProblem where it could not be written, and says why.
"""


class DecisionWriter:
    """A `Write` to Kafka.  Decisions are rare: each has a producer of its own, and is refused at once where the right is missing."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._lock = threading.Lock()

    def __call__(self, fingerprint: str, value: bytes | None, headers: Mapping[str, str]) -> None:
        """See `Write`."""
        with self._lock:
            topics.verify(self._kafka, writes=(DECISIONS,))
            write(self._kafka, _CLIENT_ID, {fingerprint: value}, headers)


class Deciding:
    """Checks decisions, and has them written."""

    def __init__(self, write: Write) -> None:
        self._write = write

    def close(self, finding: Finding, resolution: Resolution, why: str, until: str | None, by: str, now_ms: int) -> DecisionTaken:
        """Closes a finding.

        Raises:
            SettingsError: the decision doesn't fit the finding, or something is missing, or holds a secret.
            HTTPException: 503, it could not be written.
        """
        with _in_fields_names():
            decide = Closing.of(resolution, why, until or "", by, now_ms)
            decision = decide.decision(finding)
        self._written(finding.fingerprint, encode_whole(decision), {})
        return DecisionTaken(fingerprint=decision.fingerprint, **vars(decide), warnings=list(decide.warnings(finding)))

    def reopen(self, finding: Finding, why: str, by: str, now_ms: int) -> DecisionTaken:
        """Takes a decision back.

        Raises:
            SettingsError: the finding has no decision, or no reason is given.
            HTTPException: 503, it could not be written.
        """
        with _in_fields_names():
            require_decided(finding, {finding.fingerprint} if finding.decided else ())
            given = reason(why)
        self._written(finding.fingerprint, None, {"by": by, "why": given})
        return DecisionTaken(fingerprint=finding.fingerprint, resolution=None, by=by, why=given, until=None, at_ms=now_ms, warnings=[])

    def _written(self, fingerprint: str, value: bytes | None, headers: Mapping[str, str]) -> None:
        try:
            self._write(fingerprint, value, headers)
        except EnvironmentProblem as error:
            raise HTTPException(503, f"{error}; {error.hint}" if error.hint else str(error)) from None


@contextmanager
def _in_fields_names() -> Iterator[None]:
    """Errors of the command line's checks name the request's fields instead of flags."""
    try:
        yield
    except SettingsError as error:
        texts = [text and text.replace("--as ", "resolution ").replace("--", "") for text in (str(error), error.hint)]
        raise SettingsError(texts[0] or "", texts[1]) from None
