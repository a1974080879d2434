"""Ranges of time on the command line: ``--from 2026-11-24T10:00 --to 2026-11-24T12:00``, or ``--last 2h``."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from clientscope.api.history import PastSpan
from clientscope.errors import SettingsError
from clientscope.report.text import time_of

_UNITS_S = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DURATION = re.compile(r"(\d{1,9})(s|min|m|h|d|w)", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_HOW = "as in 2026-11-24T10:00 or 2026-11-24; UTC unless it names a zone"


def span(first: str, to: str, last: str, now_ms: int, *, is_before: bool = False) -> tuple[int | None, int]:
    """From and to, in ms since the epoch; None is serve's default, a day before ``to``.

    Without ``--to`` the range ends now: serve's own default is the last whole minute, and what was started since would be left out.

    Args:
        first: ``--from``; the range begins with it.
        to: ``--to``; the second that it names, or the day, is still in the range.
        last: ``--last``: how long before now the range begins.
        is_before: the second that ``--from`` names comes before the range: it is the state that is compared with.

    Raises:
        SettingsError: one can't be read, or they contradict each other.
    """
    if last and (first or to):
        raise SettingsError("--last can't be used with --from or --to", "either --last 2h, or --from and --to")
    if last:
        return now_ms - _duration_ms(last), now_ms
    since = begin(first, "--from") if first else None
    if since is not None and is_before and not _DATE.fullmatch(first.strip()):
        since += 1_000
    until = min(now_ms, end(to, "--to")) if to else now_ms
    if since is not None and since >= until:
        raise SettingsError("--from must come before --to, and before now", _HOW)
    return since, until


def no_more(answer: PastSpan, nothing: str = "") -> list[str]:
    """Sentences about what history doesn't have of a time yet.

    Args:
        nothing: what is said of the time that it has, where an answer is empty.
    """
    until = answer.to_ms if answer.complete_ms is None else min(answer.complete_ms, answer.to_ms)
    said = [f"{nothing} from {time_of(answer.from_ms)} to {time_of(until)}"] * bool(nothing and until > answer.from_ms)
    if answer.complete_ms is None:
        return [f"history has no records from {time_of(answer.from_ms)} to {time_of(answer.to_ms)}: not yet, or no more"]
    if until < answer.to_ms:
        at, to = (datetime.fromtimestamp(ms / 1000, UTC) for ms in (until, answer.to_ms))
        of_day = "" if at.date() == to.date() else f" on {at:%Y-%m-%d}"
        said.append(f"history is complete until {at:%H:%M:%S}Z{of_day}; the streaming job writes it once a minute")
    return said


def begin(text: str, flag: str) -> int:
    """When what a text names begins.

    Raises:
        SettingsError: it is no time.
    """
    try:
        at = datetime.fromisoformat(text.strip())
        ms = int(at.replace(tzinfo=at.tzinfo or UTC).timestamp() * 1000)
    except (ValueError, OverflowError):
        ms = -1
    if ms < 0:  # before the epoch, or no time
        raise SettingsError(f"{flag}: not a date and time: {text[:40]!r}", _HOW)
    return ms


def end(text: str, flag: str) -> int:
    """When what a text names has ended: the second, or the day of a date alone.

    Raises:
        SettingsError: it is no time.
    """
    whole = timedelta(days=1) if _DATE.fullmatch(text.strip()) else timedelta(seconds=1)
    return begin(text, flag) + int(whole.total_seconds() * 1000)


def _duration_ms(text: str) -> int:
    found = _DURATION.fullmatch(text.strip())
    if found is None or not int(found[1]):
        raise SettingsError(f"--last: not a duration: {text[:40]!r}", "as in 30m, 2h or 7d")
    return int(found[1]) * _UNITS_S[found[2]] * 1000
