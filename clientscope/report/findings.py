"""Findings for terminals and CSV: which are counted, searched and listed, a table of them, and the details of one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, TypeVar

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clientscope.api.findings import FindingList
from clientscope.errors import EnvironmentProblem, SettingsError
from clientscope.findings.wording import application, unmarked
from clientscope.model.finding import TO_DO, AffectedClient, Finding, LeakPlace, State
from clientscope.model.setting import Setting
from clientscope.query import FINDINGS, Key, Query, matches
from clientscope.report.api import Api
from clientscope.report.text import age, capitalized, counted, grid, plain, redacted, table, time_of
from clientscope.severities import SEVERITIES


def is_counted(finding: Finding) -> bool:
    """Whether a person should act on a finding, it is sure, and no suppression hides it."""
    return finding.state in TO_DO and finding.confidence == "high" and finding.suppressed is None


def listed(findings: Collection[Finding]) -> str:
    """How many a list has, whatever their state: ``5 findings: 2 high, 3 low``; those of low confidence apart."""
    sure = Counter(each.severity for each in findings if each.confidence == "high")
    parts = ", ".join(f"{sure[severity]:,} {severity}" for severity in reversed(SEVERITIES) if sure[severity])
    text = ": ".join(filter(None, (counted(sure.total(), "finding"), parts)))
    doubtful = len(findings) - sure.total()
    return text + (f"; {doubtful:,} more of low confidence" if doubtful else "")


Item = TypeVar("Item")

SHORTEST_PREFIX = 6
SHOWN_DIGITS = 8
"""Digits of a fingerprint in tables."""

_NEAR = 3
_PREFIX = re.compile(r"[0-9a-f]{1,32}")


STATES: tuple[State, ...] = ("open", "stopped", "resolved", "closed")
Suppressed = Literal["no", "only", "all"]
Confidence = Literal["high", "low", "all"]


@dataclass(frozen=True)
class FindingChoice:
    """Which findings a list has, in the API and on the command line; a ``state:`` of the search ``q`` counts instead of ``states``."""

    states: frozenset[str] = frozenset(TO_DO)
    confidence: Confidence = "all"
    suppressed: Suppressed = "no"
    q: str = ""

    def takes(self, query: Query, of: Searched) -> bool:
        """Whether a finding is listed: the search, ``q`` as it was read, leaves it too."""
        return (
            (of["state"] in self.states or query.asks_for("state"))
            and self.confidence in (of["confidence"], "all")
            and (self.suppressed == "all" or of["suppressed"] == (self.suppressed == "only"))
            and is_found(query, of)
        )

    def chosen(self, query: Query, found: Iterable[Finding]) -> list[Finding]:
        """Those of the findings that are listed, what to fix first first."""
        return sorted((each for each in found if self.takes(query, searched(each))), key=lambda finding: finding.urgency)

    def left_out(self, query: Query, found: Collection[Finding], chosen: int) -> Iterable[str]:
        """The note on findings that a table leaves out, so that the table isn't taken for complete."""
        states = set(STATES) if query.asks_for("state") else self.states
        in_state = [finding for finding in found if finding.state in states]
        if hidden := 0 if self.suppressed == "all" else sum(finding.suppressed is not None for finding in in_state):
            yield f"{hidden} suppressed by the rules file; --all lists {'it' if hidden == 1 else 'them'}"
        if not found:
            yield "there are no findings at all: either nothing is wrong, or the streaming job has judged nothing yet"
        elif not chosen and (others := len(found) - len(in_state)):
            yield f"none is {' or '.join(sorted(states))}; {others} in other states, which --all lists"


Searched = dict[str, Any]
"""What searches, choices and orders look at: the grammar's fields, ``words`` for words alone, in lower case; ``suppressed``."""


def searched(finding: Finding) -> Searched:
    """Of a finding that says what it risks."""
    owner = finding.owner.team if finding.owner else None
    principals, client_ids = named(finding, "principal"), named(finding, "client_id")
    words = (finding.fingerprint, finding.code, finding.name, finding.message, owner or "", *principals, *client_ids)
    return {
        **{name: getattr(finding, name) for name in ("code", "name", "severity", "state", "confidence", "kind", "fingerprint")},
        "risk": tuple(finding.risks),
        "principal": principals,
        "client_id": client_ids,
        "owner": owner,
        "setting": tuple(sorted({each.key for each in finding.settings} | {each.key for each in finding.places})),
        "digest": tuple(sorted({each.digest for each in finding.settings if each.digest})),
        "clients": finding.client_count,
        "since": finding.opened_ms,
        "last_seen": finding.last_seen_ms,
        "ended": finding.ended_ms or 0,
        "suppressed": finding.suppressed is not None,
        "words": "\n".join(words).lower(),
    }


def is_found(query: Query, of: Searched) -> bool:
    """Whether a search leaves a finding, in the lists of page, history and command line alike."""
    return not query.terms or matches(query, FINDINGS, of, of["words"])


SORTS = ("severity", "code", "state", "clients", "since", "last_seen")
"""What the API's lists of findings can be sorted by."""


def sort_findings(found: list[Item], keys: Sequence[Key], of: Callable[[Item], Searched]) -> None:
    """Puts findings in an order; of equals the order stays."""
    for key in reversed(keys):  # each is stable, so the first one decides
        found.sort(key=lambda item: _rank(key.field, of(item)[key.field]), reverse=key.descending)


def _rank(field: str, value: Any) -> Any:
    return SEVERITIES.index(value) if field == "severity" else value


def named(finding: Finding, field: Literal["principal", "client_id"]) -> tuple[str, ...]:
    """Every principal, or client id, that a finding names: applications', and clients' in full."""
    whose = finding.application, *(place.application for place in finding.places), *finding.clients
    return tuple(sorted({value for each in whose if (value := getattr(each, field)) is not None}))


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
            # One that moved to a later page between two requests is in both.
            return list({finding.fingerprint: finding for finding in found}.values())


COLOURS = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan", "info": "dim"}
_STATES = {"open": "", "stopped": "", "resolved": "dim", "closed": "dim"}

_COLUMNS = ("SEVERITY", "CODE", "STATE", "CLIENTS", "FINDING", "SINCE", "FINGERPRINT")
_WIDE = ("SEVERITY", "CODE", "STATE", "CLIENTS", "OWNER", "FINDING", "FIRST SEEN", "LAST SEEN", "FINGERPRINT")

LOW_CONFIDENCE = "Of low confidence: they only look like it, and cause no alert"


def findings_table(listed: Sequence[Finding], now_ms: int, *, wide: bool = False) -> RenderableType:
    """A table of findings in the order given; those of low confidence have one of their own, under a heading."""
    sure = [finding for finding in listed if finding.confidence == "high"]
    doubtful = [finding for finding in listed if finding.confidence == "low"]
    parts: list[RenderableType] = [_table(sure, now_ms, wide)] if sure else []
    if doubtful:
        parts += [Text()] * bool(sure) + [plain(LOW_CONFIDENCE, "bold"), _table(doubtful, now_ms, wide)]
    return Group(*parts)


def printable(text: str) -> str:
    """What others chose, without control characters."""
    return plain(text).plain


def _table(listed: Sequence[Finding], now_ms: int, wide: bool) -> Table:
    view = table(_WIDE if wide else _COLUMNS, folds=("FINDING", "OWNER"), right=("CLIENTS", "SINCE"))
    for finding in listed:
        view.add_row(*_cells(finding, now_ms, wide), style=_STATES[finding.state] or None)
    return view


def _cells(finding: Finding, now_ms: int, wide: bool) -> list[Text]:
    state = f"{finding.state}{', suppressed' * (finding.suppressed is not None)}"
    start = [
        plain(finding.severity, COLOURS[finding.severity]),
        plain(finding.code),
        plain(state),
        plain(str(finding.client_count)),
    ]
    end = [plain(finding.fingerprint[:SHOWN_DIGITS])]
    if wide:
        times = [plain(time_of(ms)) for ms in (finding.first_seen_ms, finding.last_seen_ms)]
        return [*start, plain(str(finding.owner or "–")), plain(unmarked(finding.message)), *times, *end]
    return [*start, plain(unmarked(finding.message)), plain(age((now_ms - finding.opened_ms) / 1000)), *end]


_KINDS = {
    "setting": "an application's settings",
    "leak": "a secret that leaked",
    "fleet": "how an application compares to others, or to itself earlier",
    "operation": "clientscope's own parts",
}


def details(finding: Finding, now_ms: int) -> RenderableType:
    """Its sentence, what to do, whose it is, where it is, what is known besides, and when."""
    title = Text.assemble(plain(finding.severity, COLOURS[finding.severity]), " ", plain(f"{finding.code} {finding.name}", "bold"))
    parts: list[RenderableType] = [title, plain(unmarked(finding.message)), Text(), grid(_pairs(finding, now_ms))]
    for heading, lines in (
        ("Settings", map(_setting, finding.settings)),
        (f"Places ({finding.place_count})", (_place(place) for place in finding.places)),
        (f"Clients ({finding.client_count} connected)", map(_client, finding.clients)),
        ("Evidence", map(plain, finding.evidence)),
    ):
        shown = list(lines)
        if shown:
            parts += [Text(), plain(heading, "bold"), *(Text("  ").append_text(line) for line in shown)]
    return Group(*parts)


def _pairs(finding: Finding, now_ms: int) -> Iterable[tuple[str, str]]:
    yield "use instead", unmarked(finding.use_instead) or "–"
    yield "state", f"{finding.state}{_reopened(finding.reopened)}"
    if finding.confidence == "low":
        yield "confidence", "low: it only looks like it, and causes no alert"
    if finding.suppressed:
        yield "suppressed", f"{finding.suppressed.reason} (until {finding.suppressed.until}, {finding.suppressed.where})"
    if (decided := finding.decided) is not None:
        until = f" until {decided.until}" if decided.until else ""
        yield "decision", f"{decided.resolution}{until}, by {decided.by} at {time_of(decided.at_ms)}: {decided.why}"
    yield "about", _KINDS[finding.kind]
    yield ("subject", finding.subject) if finding.subject else ("application", application(finding.application))
    yield "owner", str(finding.owner or "–")
    if (reach := finding.reach) is not None:
        yield "redacted at", ", ".join(reach.redacted_at) or "no gateway"
        yield "written to", ", ".join(reach.written_to) or "no topic"
    for name, ms in (
        ("first seen", finding.first_seen_ms),
        ("last seen", finding.last_seen_ms),
        ("opened", finding.opened_ms),
        ("ended", finding.ended_ms),
    ):
        if ms is not None:
            yield name, f"{time_of(ms)} ({age((now_ms - ms) / 1000)} ago)"
    if finding.alert:
        yield "alerted", f"{finding.alert.why}, {time_of(finding.alert.at_ms)}"
    yield "fingerprint", finding.fingerprint
    if finding.kind != "operation":
        yield "rule", f"clientscope rules {finding.code}"
    if finding.link:
        yield "read on", finding.link


def _reopened(times: int) -> str:
    return "" if times == 0 else f", reopened {'once' if times == 1 else f'{times} times'}"


def _setting(setting: Setting) -> Text:
    if setting.redacted is not None:
        return plain(f"{setting.key} = {redacted(setting.redacted)}")
    value = "" if setting.value is None else f" = {setting.value}"
    return plain(f"{setting.key}{value} ({setting.origin})")


def _place(place: LeakPlace) -> Text:
    return plain(
        f"{application(place.application)}: {place.key}, {counted(place.clients, 'client')}, last seen {time_of(place.last_seen_ms)}"
    )


def _client(client: AffectedClient) -> Text:
    software = " ".join(filter(None, (client.software_name, client.software_version))) or "unknown software"
    where = f"broker {client.broker} by {client.gateway}" if client.gateway else ""
    now = "connected now" if client.disconnected_ms is None else f"last connected {time_of(client.disconnected_ms)}"
    pushed = f"{'seen' if client.observed else 'pushed'} {time_of(client.pushed_ms)}"
    shown = (client.client_id or "no client.id", software, client.principal, client.address, where, pushed, now)
    return plain(capitalized(", ".join(filter(None, shown))) if not client.client_id else ", ".join(filter(None, shown)))


FIELDS = (
    "severity", "code", "name", "kind", "confidence", "state", "suppressed.until", "client_count", "application.principal",
    "application.client_id", "application.group", "owner.team", "owner.contact", "message", "first_seen_ms", "last_seen_ms", "opened_ms",
    "ended_ms", "reopened", "fingerprint", "link",
)  # fmt: skip
"""Of a finding, as JSON has them."""
