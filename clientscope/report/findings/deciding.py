"""What a person decides about findings, checked before it is written down."""

from __future__ import annotations

import getpass
from collections.abc import Container, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from clientscope.catalog import sensitive
from clientscope.catalog.configs import Type
from clientscope.config import FindingsCloseSettings
from clientscope.errors import SettingsError
from clientscope.findings.decisions import OF_LEAKS, Decision, Resolution
from clientscope.findings.record import Finding
from clientscope.records.codec import ValueState
from clientscope.report.findings.selecting import SHOWN_DIGITS
from clientscope.topic_values import NAME_LENGTH, SENTENCE_LENGTH

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
    def of(cls, settings: FindingsCloseSettings, now_ms: int) -> Closing:
        """From the command line.

        Raises:
            SettingsError: something is missing, or doesn't go together, or holds a secret.
        """
        if not settings.resolution:
            raise SettingsError(
                "--as is missing", "one of rotated, test-value, not-a-secret, accepted; see: clientscope findings close --help"
            )
        until = _until(settings.until, datetime.fromtimestamp(now_ms / 1000, UTC).date()) if settings.until else None
        if settings.resolution == "accepted" and until is None:
            raise SettingsError("--as accepted needs --until", "the last day on which the risk is accepted, as in --until 2026-12-31")
        if settings.resolution != "accepted" and until is not None:
            raise SettingsError(f"--until has no meaning with --as {settings.resolution}", "only what is accepted, is so until a date")
        return cls(settings.resolution, who(settings.by), reason(settings.why), now_ms, until)

    def decision(self, finding: Finding) -> Decision:
        """The record for one finding.

        Raises:
            SettingsError: it isn't of the kind that is closed so.
        """
        if self.resolution in OF_LEAKS and finding.kind != "leak":
            raise SettingsError(
                f"{finding.fingerprint[:SHOWN_DIGITS]} ({finding.code}) is no leak, so it can't be closed as {self.resolution}",
                "it is resolved by itself once the setting is right; --as accepted --until DATE takes the risk until then",
            )
        return Decision(
            fingerprint=finding.fingerprint,
            resolution=self.resolution,
            by=self.by,
            why=self.why,
            at_ms=self.at_ms,
            until=self.until,
        )

    def warnings(self, finding: Finding) -> Iterable[str]:
        """What the person may not have thought of."""
        if self.resolution == "rotated" and finding.state == "open":
            yield "a client still has it; the next push of the same secret reopens the finding"


def who(by: str) -> str:
    """Who decides: the name that is given, or else this machine's user.

    Raises:
        SettingsError: nobody is named, or what stands there is no name.
    """
    if not by.strip():
        try:
            by = getpass.getuser()
        except (OSError, KeyError):
            raise SettingsError("this machine doesn't say who you are", "say it: --by NAME") from None
    return _without_secret("--by", by, NAME_LENGTH)


def reason(why: str) -> str:
    """Why it is decided so.

    Raises:
        SettingsError: nothing is said, or too much, or a secret.
    """
    if not why.strip():
        raise SettingsError("--why is missing", 'a sentence for who reads it later, as in --why "new password since Monday, SEC-1234"')
    return _without_secret("--why", why, SENTENCE_LENGTH)


def require_decided(finding: Finding, decided: Container[str]) -> None:
    """Raises SettingsError where there is no decision that could be taken back."""
    if finding.fingerprint not in decided:
        raise SettingsError(
            f"{finding.fingerprint[:SHOWN_DIGITS]} ({finding.code}) is {finding.state}, and nobody has decided about it",
            "there is nothing to take back",
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
    for part in (text, *text.split()):
        if sensitive.reason("", part, Type.STRING) in (ValueState.VALUE_SHAPE, ValueState.LOOKS_RANDOM):
            raise SettingsError(
                f"{flag} looks as if it held a secret", "everybody can read it who can read findings; say it without the value"
            )
    return text
