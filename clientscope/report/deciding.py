"""Decisions about findings, which are checked, then written."""

from __future__ import annotations

import getpass
from collections.abc import Container, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from kafka.errors import KafkaError

from clientscope.catalog.sensitive_values import judge_value
from clientscope.catalog.value_states import ValueState
from clientscope.errors import EnvironmentProblem, SettingsError
from clientscope.kafka.access import Kafka
from clientscope.kafka.writer import TopicWriter
from clientscope.model.decision import OF_LEAKS, Decision, Resolution
from clientscope.model.fields import NAME_LENGTH, SENTENCE_LENGTH, clean
from clientscope.model.finding import Finding
from clientscope.model.topics import DECISIONS
from clientscope.report.findings import SHOWN_DIGITS

LONGEST_ACCEPTANCE_DAYS = 366


@dataclass(frozen=True)
class Closing:
    """One decision, about whichever findings it is."""

    resolution: Resolution
    by: str
    why: str
    at_ms: int
    until: date | None = None

    @classmethod
    def of(cls, resolution: Resolution | Literal[""], why: str, until: str, by: str, now_ms: int) -> Closing:
        """From texts.

        Args:
            until: a date; empty for none.
            by: empty for the user of this machine.

        Raises:
            SettingsError: something is missing, doesn't go together, or holds a secret.
        """
        if not resolution:
            raise SettingsError(
                "--as is missing", "one of rotated, test-value, not-a-secret, accepted; see: clientscope findings close --help"
            )
        last = _until(until, datetime.fromtimestamp(now_ms / 1000, UTC).date()) if until else None
        if resolution == "accepted" and last is None:
            raise SettingsError("--as accepted needs --until", "the last day on which the risk is accepted, as in --until 2026-12-31")
        if resolution != "accepted" and last is not None:
            raise SettingsError(f"--until has no meaning with --as {resolution}", "only --as accepted ends on a date")
        return cls(resolution, who(by), reason(why), now_ms, last)

    def decision(self, finding: Finding) -> Decision:
        """The record for one finding.

        Raises:
            SettingsError: it isn't of the kind that is closed so.
        """
        if self.resolution in OF_LEAKS and finding.kind != "leak":
            raise SettingsError(
                f"{finding.fingerprint[:SHOWN_DIGITS]} ({finding.code}) is not a leak, so it can't be closed as {self.resolution}",
                "it is resolved when the setting is fixed; --as accepted --until DATE accepts the risk until then",
            )
        return Decision(fingerprint=finding.fingerprint, **vars(self))

    def warnings(self, finding: Finding) -> Iterable[str]:
        """What the person may not have thought of."""
        if self.resolution == "rotated" and finding.state == "open":
            yield "a client still has it; the next push of the same secret reopens the finding"


def who(by: str) -> str:
    """The person who decides: the name that is given, or else this machine's user.

    Raises:
        SettingsError: no person is named, or the name is invalid.
    """
    if not by.strip():
        try:
            by = getpass.getuser()
        except (OSError, KeyError):
            raise SettingsError("this machine has no name for the current user", "set --by NAME") from None
    return _without_secret("--by", by, NAME_LENGTH)


def reason(why: str) -> str:
    """Why it is decided so.

    Raises:
        SettingsError: the text is empty, too long, or contains a secret.
    """
    if not why.strip():
        raise SettingsError("--why is missing", 'give a sentence for later readers, as in --why "new password since Monday, SEC-1234"')
    return _without_secret("--why", why, SENTENCE_LENGTH)


def require_decided(finding: Finding, decided: Container[str]) -> None:
    """Raises SettingsError where there is no decision that could be taken back."""
    if finding.fingerprint not in decided:
        raise SettingsError(
            f"{finding.fingerprint[:SHOWN_DIGITS]} ({finding.code}) is {finding.state}, and has no decision",
            "only a decision can be withdrawn",
        )


def _until(text: str, today: date) -> date:
    try:
        until = date.fromisoformat(text)
    except ValueError:
        raise SettingsError(f"--until: {text[:32]!r} is no date", "year-month-day, as in 2026-12-31") from None
    if until <= today:
        raise SettingsError(f"--until: {until} isn't in the future", f"today is {today} in UTC")
    if until > (last := today + timedelta(days=LONGEST_ACCEPTANCE_DAYS)):
        raise SettingsError(
            f"--until: {until} is more than {LONGEST_ACCEPTANCE_DAYS} days away", f"no later than {last}; it can be accepted again then"
        )
    return until


def _without_secret(flag: str, text: str, longest: int) -> str:
    text = " ".join(text.split())
    if len(text) > longest:
        raise SettingsError(f"{flag}: {len(text)} characters", f"at most {longest}")
    text = clean(text, longest)
    for part in (text, *text.split()):
        if judge_value(part) in (ValueState.VALUE_SHAPE, ValueState.LOOKS_RANDOM):
            raise SettingsError(f"{flag} appears to contain a secret", "everybody who can read findings can read it; leave out the value")
    return text


def write(kafka: Kafka, client_id: str, records: Mapping[str, bytes | None], headers: Mapping[str, str]) -> None:
    """Writes decisions, or tombstones, by fingerprint; returns once Kafka has acknowledged them.

    Raises:
        EnvironmentProblem: Kafka has not acknowledged them.
    """
    try:
        with closing(TopicWriter(kafka, DECISIONS, client_id)) as writer:
            beside = [(name, text.encode()) for name, text in headers.items()]
            writer.write(records, dict.fromkeys(records, beside))
    except (KafkaError, TimeoutError) as error:
        raise EnvironmentProblem(
            f"Kafka has not acknowledged the decision ({str(error)[:200] or type(error).__name__})",
            "check the broker, and decide it again; a decision that is written twice does no harm",
        ) from None
