"""Findings from the page's API, in every state."""

from __future__ import annotations

from collections.abc import Iterable

from clientscope.api.findings import FindingList
from clientscope.errors import EnvironmentProblem
from clientscope.findings.record import Finding, State
from clientscope.report.api import Api

STATES: tuple[State, ...] = ("open", "stopped", "resolved", "closed")
_AT_ONCE = 1_000


def every(api: Api, search: str) -> list[Finding]:
    """All findings that a search leaves, suppressed ones too.

    Raises:
        EnvironmentProblem: no serve answers, it requires a token, or it is still reading its topics.
        SettingsError: the search is invalid; says where.
    """
    found: list[Finding] = []
    while True:
        page = {"q": search, "state": STATES, "suppressed": "all", "limit": _AT_ONCE, "offset": len(found)}
        answer = api.get("findings", page, FindingList)
        if answer.total is None:
            raise EnvironmentProblem(
                "the page is still reading its topics; findings are not available yet", "repeat the command in a minute"
            )
        found += answer.items
        if not answer.items or len(found) >= answer.total:
            return _once(found)


def _once(found: Iterable[Finding]) -> list[Finding]:
    """One that moved to a later page between two requests is in both."""
    return list({finding.fingerprint: finding for finding in found}.values())
