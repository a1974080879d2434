"""Selection of findings: filters, and fingerprints by their first digits."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple, get_args

from clientscope.errors import SettingsError
from clientscope.findings.record import TO_DO, Application, Finding, State
from clientscope.query import FINDINGS, Query, matches
from clientscope.risks import Risk
from clientscope.severities import Severity

SHORTEST_PREFIX = 6
SHOWN_DIGITS = 8
"""Digits of a fingerprint in tables."""

_NEAR = 3
_PREFIX = re.compile(r"[0-9a-f]{1,32}")


@dataclass(frozen=True)
class ListedStates:
    """Which of the findings that a search leaves ``clientscope findings`` lists.

    Attributes:
        states: those that are listed.
        suppressed: whether those are listed too that a suppression of the rules file hides.
    """

    states: frozenset[str]
    suppressed: bool

    @classmethod
    def of(cls, search: Query, every: bool) -> ListedStates:
        """The states that a search asks for count instead of those that are listed by default; ``every`` lists all."""
        return cls(frozenset(get_args(State) if every or search.asks_for("state") else TO_DO), every)

    def takes(self, finding: Finding) -> bool:
        """Whether it is listed."""
        return finding.state in self.states and (self.suppressed or finding.suppressed is None)

    def left_out(self, found: Collection[Finding], chosen: int) -> Iterable[str]:
        """The note on findings that the table leaves out, so that the table isn't taken for complete."""
        in_state = [finding for finding in found if finding.state in self.states]
        if hidden := 0 if self.suppressed else sum(finding.suppressed is not None for finding in in_state):
            yield f"{hidden} suppressed by the rules file; --all lists {'it' if hidden == 1 else 'them'}"
        if not found:
            yield "there are no findings at all: either nothing is wrong, or the streaming job has judged nothing yet"
        elif not chosen and (others := len(found) - len(in_state)):
            yield f"none is {' or '.join(sorted(self.states))}; {others} in other states, which --all lists"


class SearchedFinding(NamedTuple):
    """What the search looks at of a finding, in the lists of page and command line alike; ``words`` is in lower case.

    Its fields have the names that `clientscope.query.FINDINGS` gives them.
    """

    code: str
    name: str
    severity: Severity
    risk: tuple[Risk, ...]
    state: State
    confidence: str
    kind: str
    principal: tuple[str, ...]
    client_id: tuple[str, ...]
    owner: str | None
    setting: tuple[str, ...]
    digest: tuple[str, ...]
    fingerprint: str
    clients: int
    since: int
    words: str

    @classmethod
    def of(cls, finding: Finding) -> SearchedFinding:
        """From a finding that says what it risks."""
        owner = finding.owner.team if finding.owner else None
        named = tuple(sorted(principals(finding))), tuple(sorted(client_ids(finding)))
        words = (finding.fingerprint, finding.code, finding.name, finding.message, owner or "", *named[0], *named[1])
        return cls(
            finding.code,
            finding.name,
            finding.severity,
            tuple(finding.risks),
            finding.state,
            finding.confidence,
            finding.kind,
            *named,
            owner,
            tuple(sorted({each.key for each in finding.settings} | {each.key for each in finding.places})),
            tuple(sorted({each.digest for each in finding.settings if each.digest})),
            finding.fingerprint,
            finding.client_count,
            finding.opened_ms,
            "\n".join(words).lower(),
        )

    def matches(self, query: Query) -> bool:
        """Whether a search leaves it."""
        return not query.terms or matches(query, FINDINGS, self._asdict(), self.words)


def principals(finding: Finding) -> set[str]:
    """Every principal that a finding names."""
    named = [of.principal for of in _applications(finding)] + [client.principal for client in finding.clients]
    return {principal for principal in named if principal is not None}


def client_ids(finding: Finding) -> set[str]:
    """Every client id that a finding names: applications', and clients' in full."""
    named = [of.client_id for of in _applications(finding)] + [client.client_id for client in finding.clients]
    return {client_id for client_id in named if client_id is not None}


def found_by(given: str, findings: Iterable[Finding]) -> Finding:
    """The finding whose fingerprint begins so.

    Raises:
        SettingsError: no finding or several match, or these are no such digits; names similar ones.
    """
    prefix = given.strip().lower()
    if not _PREFIX.fullmatch(prefix):
        raise SettingsError(
            f"{given[:64]!r} is not a fingerprint",
            "give at least the first 6 of its 32 hexadecimal digits; list them: clientscope findings",
        )
    if len(prefix) < SHORTEST_PREFIX:
        raise SettingsError(f"{prefix} is too short", f"give at least {SHORTEST_PREFIX} digits of the fingerprint")
    by_fingerprint = {finding.fingerprint: finding for finding in findings}
    fitting = sorted(fingerprint for fingerprint in by_fingerprint if fingerprint.startswith(prefix))
    if len(fitting) == 1:
        return by_fingerprint[fitting[0]]
    if fitting:
        raise SettingsError(f"{prefix} is the beginning of {len(fitting)} fingerprints", f"they are: {', '.join(fitting[:_NEAR])}")
    beginnings = {fingerprint[: len(prefix)]: fingerprint for fingerprint in by_fingerprint}
    near = [beginnings[each] for each in get_close_matches(prefix, beginnings, _NEAR)]
    raise SettingsError(
        f"no finding has the fingerprint {prefix}",
        f"did you mean {' or '.join(fingerprint[: max(SHOWN_DIGITS, len(prefix))] for fingerprint in near)}?"
        if near
        else "clientscope findings --all lists them; one that is resolved is forgotten after 30 days",
    )


def _applications(finding: Finding) -> list[Application]:
    return [finding.application, *(place.application for place in finding.places)]
