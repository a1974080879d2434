"""Details of one finding, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clientscope.findings.record import Client, Finding, LeakPlace
from clientscope.findings.wording import application, unmarked
from clientscope.report.findings.table import COLOURS
from clientscope.report.text import age, capitalized, plain, time_of
from clientscope.topic_values import Setting

_KINDS = {
    "setting": "an application's settings",
    "leak": "a secret that leaked",
    "fleet": "how an application compares to others, or to itself earlier",
    "operation": "clientscope's own parts",
}


def of(finding: Finding, now_ms: int) -> RenderableType:
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
