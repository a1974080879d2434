"""Findings for terminals and CSV: a table of sure ones, then those of low confidence, and the details of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clientscope.findings.record import Client, Finding, LeakPlace
from clientscope.findings.wording import application, unmarked
from clientscope.report.findings.selecting import SHOWN_DIGITS
from clientscope.report.text import age, capitalized, plain, table, time_of
from clientscope.topic_values import Setting

COLOURS = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan", "info": "dim"}
_STATES = {"open": "", "stopped": "", "resolved": "dim", "closed": "dim"}

_COLUMNS = ("SEVERITY", "CODE", "STATE", "CLIENTS", "FINDING", "SINCE", "FINGERPRINT")
_WIDE = ("SEVERITY", "CODE", "STATE", "CLIENTS", "OWNER", "FINDING", "FIRST SEEN", "LAST SEEN", "FINGERPRINT")

LOW_CONFIDENCE = "Of low confidence: they only look like it, and cause no alert"


def findings(listed: Sequence[Finding], now_ms: int, *, wide: bool = False) -> RenderableType:
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
        owner = f"{finding.owner.team} ({finding.owner.contact})" if finding.owner else "–"
        times = [plain(time_of(ms)) for ms in (finding.first_seen_ms, finding.last_seen_ms)]
        return [*start, plain(owner), plain(unmarked(finding.message)), *times, *end]
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
    parts: list[RenderableType] = [title, plain(unmarked(finding.message)), Text(), _facts(finding, now_ms)]
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


def _facts(finding: Finding, now_ms: int) -> Table:
    view = Table.grid(padding=(0, 2))
    view.add_column(no_wrap=True, style="dim")
    view.add_column(overflow="fold")
    for name, text in _pairs(finding, now_ms):
        view.add_row(name, plain(text))
    return view


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
    yield "owner", f"{finding.owner.team}, {finding.owner.contact}" if finding.owner else "–"
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
    if setting.value is not None:
        return plain(f"{setting.key} = {setting.value}{f' ({setting.origin})' if setting.origin else ''}")
    known = [f"{setting.length} bytes"] * (setting.length is not None) + [f"digest {(setting.digest or '')[:16]}…"] * bool(setting.digest)
    if setting.reason is None:
        return plain(f"{setting.key}{f' ({setting.origin})' if setting.origin else ''}")
    return plain(f"{setting.key} = redacted ({', '.join([setting.reason.replace('_', ' '), *known])})")


def _place(place: LeakPlace) -> Text:
    counted = f"{place.clients} client{'s' * (place.clients != 1)}"
    return plain(f"{application(place.application)}: {place.key}, {counted}, last seen {time_of(place.last_seen_ms)}")


def _client(client: Client) -> Text:
    software = " ".join(filter(None, (client.software_name, client.software_version))) or "unknown software"
    where = f"broker {client.broker} by {client.gateway}" if client.gateway else ""
    now = "connected now" if client.disconnected_ms is None else f"last connected {time_of(client.disconnected_ms)}"
    pushed = f"{'seen' if client.observed else 'pushed'} {time_of(client.pushed_ms)}"
    shown = (client.client_id or "no client.id", software, client.principal, client.address, where, pushed, now)
    return plain(capitalized(", ".join(filter(None, shown))) if not client.client_id else ", ".join(filter(None, shown)))


FIELDS = (
    "severity", "code", "name", "kind", "confidence", "state", "client_count", "message", "first_seen_ms", "last_seen_ms", "opened_ms",
    "ended_ms", "reopened", "fingerprint",
)  # fmt: skip
"""By which findings can be sorted."""

COLUMNS = (
    "severity", "code", "name", "kind", "confidence", "state", "suppressed", "client_count", "principal", "client_id", "group", "owner",
    "message", "first_seen", "last_seen", "opened", "ended", "fingerprint", "link",
)  # fmt: skip
"""Of CSV, as `cells` has them."""


def cells(f: Finding) -> dict[str, str | int | None]:
    """A finding as a line of CSV; times are ISO 8601 in UTC."""
    times = ("first_seen", f.first_seen_ms), ("last_seen", f.last_seen_ms), ("opened", f.opened_ms), ("ended", f.ended_ms)
    return {
        "severity": f.severity,
        "code": f.code,
        "name": f.name,
        "kind": f.kind,
        "confidence": f.confidence,
        "state": f.state,
        "suppressed": f.suppressed.until.isoformat() if f.suppressed else None,
        "client_count": f.client_count,
        "principal": f.application.principal,
        "client_id": f.application.client_id,
        "group": f.application.group,
        "owner": f"{f.owner.team} {f.owner.contact}" if f.owner else None,
        "message": f.message,
        **{name: None if ms is None else time_of(ms) for name, ms in times},
        "fingerprint": f.fingerprint,
        "link": f.link,
    }
