"""Reader of the times in log lines, in ms since the epoch."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?: ?(Z|[+-]\d\d:?\d\d))?")
_EPOCH = re.compile(r"(?:^|\|)(\d{10})\.(\d{3})\|")  # librdkafka: %7|1763999999.123|CONF|…
_DIGITS = re.compile(r"\d{10,19}")
_UNITS = {10: 1000.0, 13: 1.0, 16: 1e-3, 19: 1e-6}
"""Digits of a time since the epoch in s, ms, µs and ns → what makes it ms; all of these years have as many digits."""
_SEARCHED = 300


def written_ms(text: str, zone: tzinfo = UTC) -> int | None:
    """When a line was written: the first time in its beginning; None where there is none.

    Args:
        text: a line, or the value of a field that has a time: ISO 8601, Log4j's ``2026-11-24 19:34:32,360``, librdkafka's, or a number.
        zone: of times without one.
    """
    text = text[:_SEARCHED]
    if _DIGITS.fullmatch(text):
        unit = _UNITS.get(len(text))
        return None if unit is None else int(int(text) * unit)
    iso, epoch = _ISO.search(text), _EPOCH.search(text)
    if epoch and (iso is None or epoch.start() < iso.start()):
        return int(epoch[1]) * 1000 + int(epoch[2])
    if iso is None:
        return None
    *date, fraction, offset = iso.groups()
    try:
        own = datetime.strptime(offset, "%z").tzinfo if offset else zone
        at = datetime(*map(int, date), tzinfo=own)  # type: ignore[arg-type, misc]
        return int(at.timestamp()) * 1000 + int((fraction or "0")[:3].ljust(3, "0"))
    except (ValueError, OverflowError):  # such as month 13
        return None
