"""Life of a finding: open, stopped, resolved, closed and reopened, and which changes require a notification.

One pure function, `advance`: the entry that it is given stays as it is, and nothing is read but its arguments.

- *open*: connected clients have it, or no newer push is without it.
- *resolved*: newer pushes are without it everywhere and no connected client has it.  What is found by comparing, and what concerns
  clientscope's own operation, resolves as soon as it is no longer so.
- *stopped*: the same for a secret, which must still be rotated.  A secret also stops when no connected client has had it for
  `QUIET_MS`.
- *closed*: a person's decision holds.

A notification is asked for when the finding is new, is back after it ended, or gets worse; not while it is suppressed, closed or of low
confidence, nor of settings of clients that came and left before the job's start.  What was there for so short a time that no look saw it
open still asks for one (F46).
"""

from __future__ import annotations

from dataclasses import replace

from clientscope.findings.record import Alert, Finding, State, Why
from streaming.findings.entry import FindingEntry, FindingStanding, Place, Where
from streaming.findings.finding_records import Policy, record_of
from streaming.findings.named_clients import Holders, named

QUIET_MS = 10 * 60_000
"""A secret that no connected client has any more counts as stopped after this, though no newer push says so."""

_NO_POLICY = Policy()


def advance(
    entry: FindingEntry, holders: Holders, now_ms: int, policy: Policy = _NO_POLICY, alerts: bool = True
) -> tuple[FindingEntry, Finding]:
    """The next state of a finding, and its record.

    Args:
        entry: what is known of it; isn't changed.
        holders: the clients that have it.
        now_ms: ms since the epoch.
        policy: owners and suppressions.
        alerts: whether it may ask for a notification.

    Returns:
        the entry from now on, which shares with the earlier one what hasn't changed, so that one isn't used any more; and its record.
    """
    is_live = holders.number > 0
    quiet_since_ms = _quiet_since_ms(entry, is_live, now_ms)
    advanced = replace(
        entry,
        severity=_worst(entry),
        places=_places(entry, quiet_since_ms, now_ms),
        known=named(entry, holders),
        lately={},
        worst_lately=-1,
        standing=replace(entry.standing, quiet_since_ms=quiet_since_ms),
    )
    state = _state(advanced, is_live, now_ms)
    suppression = policy.suppression(advanced, now_ms)
    if state == "open" or (state == "stopped" and advanced.is_unheard):
        back_ms = advanced.back_ms if advanced.standing.is_open else 0
        notifies = alerts and suppression is None and not advanced.low_confidence
        advanced = replace(advanced, standing=_opened(advanced, notifies, now_ms), back_ms=back_ms)
    if state != "open" and (advanced.standing.is_open or not advanced.standing.ended_ms):
        ended = replace(advanced.standing, is_open=False, ended_ms=_ended_ms(advanced, state, now_ms))
        advanced = replace(advanced, standing=ended)
    return advanced, record_of(advanced, state, holders, suppression, policy.owners)


def _state(entry: FindingEntry, is_live: bool, now_ms: int) -> State:
    if entry.decision is not None and entry.decision.holds(entry.last_seen_ms, now_ms):
        return "closed"
    if entry.kind in ("fleet", "operation"):
        return "open" if entry.present else "resolved"
    if is_live or not entry.passed:
        return "open"
    return "stopped" if entry.kind == "leak" else "resolved"


def _quiet_since_ms(entry: FindingEntry, is_live: bool, now_ms: int) -> int | None:
    if entry.kind != "leak" or is_live:
        return None
    return now_ms if entry.standing.quiet_since_ms is None else entry.standing.quiet_since_ms


def _places(entry: FindingEntry, quiet_since_ms: int | None, now_ms: int) -> dict[Place, Where]:
    """Its places; a secret that has been quiet for long enough counts as passed in all of them, as by a push without it."""
    if quiet_since_ms is None or now_ms - quiet_since_ms < QUIET_MS or entry.passed:
        return entry.places
    return {place: replace(where, passed_ms=max(where.passed_ms, where.last_seen_ms + 1)) for place, where in entry.places.items()}


def _worst(entry: FindingEntry) -> int:
    """Of those that have it, or had it since the last look; or as it was then."""
    worst = max(*entry.severities, entry.worst_lately, -1)
    return worst if worst >= 0 else entry.severity


def _opened(entry: FindingEntry, notifies: bool, now_ms: int) -> FindingStanding:
    """The state of an open finding, with an alert if it is new, worse or back."""
    standing = entry.standing
    if not standing.is_open:
        again = standing.ended_ms > 0
        opened_ms = (entry.back_ms or now_ms) if again else entry.first_seen_ms
        reopened = standing.reopened + again
        standing = replace(standing, is_open=True, opened_ms=opened_ms, ended_ms=0, reopened=reopened, worst_alerted=-1)
    if not notifies or entry.severity <= standing.worst_alerted:
        return standing
    why: Why = "worse" if standing.worst_alerted >= 0 else "reopened" if standing.reopened and standing.alert else "new"
    number = standing.alert.number + 1 if standing.alert else 1
    alert = Alert(number=number, why=why, at_ms=entry.last_seen_ms if why == "worse" else standing.opened_ms)
    return replace(standing, alert=alert, worst_alerted=entry.severity)


def _ended_ms(entry: FindingEntry, state: State, now_ms: int) -> int:
    if state == "resolved" and entry.places:
        return max(where.passed_ms for where in entry.places.values())
    return now_ms
