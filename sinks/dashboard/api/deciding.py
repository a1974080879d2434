"""Decisions about findings from the page: the checks of ``clientscope findings close``, then a record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from fastapi import HTTPException

from clientscope import topics
from clientscope.api.findings import CloseRequest, DecisionTaken, ReopenRequest
from clientscope.errors import EnvironmentProblem, SettingsError
from clientscope.kafka.access import Kafka
from clientscope.model.codec import encode_whole
from clientscope.model.finding import Finding
from clientscope.model.topics import DECISIONS
from clientscope.report.deciding import Closing, reason, require_decided, write

_CLIENT_ID = "clientscope-serve-decisions"


Write = Callable[[str, bytes | None, Mapping[str, str]], None]
"""Writes a decision under its fingerprint, with headers, and returns once it is kept; None takes a decision back.

Raises EnvironmentProblem where it could not be written, and says why.
"""


def to_kafka(kafka: Kafka, fingerprint: str, value: bytes | None, headers: Mapping[str, str]) -> None:
    """A `Write` to Kafka.  Decisions are rare: each has a producer of its own, and is refused at once where the right is missing."""
    topics.verify(kafka, writes=(DECISIONS,))
    write(kafka, _CLIENT_ID, {fingerprint: value}, headers)


def close(write: Write, finding: Finding, asked: CloseRequest, by: str, now_ms: int) -> DecisionTaken:
    """Closes a finding.

    Raises:
        SettingsError: the decision doesn't fit the finding, or something is missing, or holds a secret.
        HTTPException: 503, it could not be written.
    """
    with _as_answers():
        decide = Closing.of(asked.resolution, asked.why, asked.until or "", by, now_ms)
        write(finding.fingerprint, encode_whole(decide.decision(finding)), {})
    return DecisionTaken(fingerprint=finding.fingerprint, **vars(decide), warnings=list(decide.warnings(finding)))


def reopen(write: Write, finding: Finding, asked: ReopenRequest, by: str, now_ms: int) -> DecisionTaken:
    """Takes a decision back.

    Raises:
        SettingsError: the finding has no decision, or no reason is given.
        HTTPException: 503, it could not be written.
    """
    with _as_answers():
        require_decided(finding, {finding.fingerprint} if finding.decided else ())
        why = reason(asked.why)
        write(finding.fingerprint, None, {"by": by, "why": why})
    return DecisionTaken(fingerprint=finding.fingerprint, resolution=None, by=by, why=why, until=None, at_ms=now_ms, warnings=[])


@contextmanager
def _as_answers() -> Iterator[None]:
    """Errors of the command line's checks name the request's fields instead of flags; one of the writer is a status."""
    try:
        yield
    except EnvironmentProblem as error:
        raise HTTPException(503, f"{error}; {error.hint}" if error.hint else str(error)) from None
    except SettingsError as error:
        texts = [text and text.replace("--as ", "resolution ").replace("--", "") for text in (str(error), error.hint)]
        raise SettingsError(texts[0] or "", texts[1]) from None
