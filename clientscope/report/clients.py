"""Connected clients of all clusters as a table, and one client in full, from the page's API."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clientscope.api.clients import (
    ClientDetail,
    ClientList,
    ClientRow,
    ClientStart,
    Configuration,
    ConnectionRow,
    EffectiveSetting,
    FindingsSummary,
    SettingChange,
)
from clientscope.errors import EnvironmentProblem, SettingsError
from clientscope.findings.wording import unmarked
from clientscope.model.finding import Finding
from clientscope.query import term_text
from clientscope.report import text
from clientscope.report.api import Api, UnknownResource
from clientscope.report.findings import COLOURS, SHOWN_DIGITS
from clientscope.report.listing import is_narrow
from clientscope.report.text import age, counted, grid, plain, redacted, table, time_of

FIELDS = (
    "key", "client_id", "software_name", "software_version", "principal", "address", "listener", "security_protocol", "broker", "cluster",
    "gateway", "instance_id", "application", "owner", "connections", "since_ms", "disconnected_ms", "opened_per_minute",
    "bytes_in_per_second", "bytes_out_per_second", "active_ms", "risks", "findings.worst", "findings.count",
)  # fmt: skip
"""Fields of a client, as the API names them."""

_MOST = 10_000
_WIDE = ("LISTENER", "BROKER", "GATEWAY", "INSTANCE", "OPENED/MIN", "IN B/S", "OUT B/S", "IDLE")
_NUMBERS = ("CONNECTIONS", "SINCE", "BROKER", "OPENED/MIN", "IN B/S", "OUT B/S", "IDLE")


def fetch_clients(api: Api, search: str) -> tuple[list[ClientRow], list[str]]:
    """The clients that the search finds, and sentences about those that are left out.

    Raises:
        EnvironmentProblem: no serve answers, or it requires a token.
        SettingsError: the search is invalid; says where.
    """
    answer = api.get("clients", {"q": search, "limit": _MOST}, ClientList)
    items, total = answer.items, answer.total
    if total is None:
        return items, ["the page is still reading its topics; the list is not available yet"]
    if total > len(items):
        return items, [f"{counted(total - len(items), 'more client')}; narrow the search, or use the page's export"]
    if not items:
        return items, ["no client is connected" if not search else "no client matches"]
    return items, []


def clients_table(found: Sequence[ClientRow], now_s: float, *, wide: bool = False) -> Table | None:
    """A row for each; what clients chose themselves is shown as it is.  A narrow terminal has no principals and addresses."""
    if not found:
        return None
    whose = wide or not is_narrow()
    more = (*(("PRINCIPAL", "ADDRESS") if whose else ()), *(_WIDE if wide else ()))
    headings = ("CLIENT.ID", "SOFTWARE", "VERSION", *more, "CONNECTIONS", "SINCE", "FINDINGS")
    view = text.table(headings, folds=("CLIENT.ID", "SOFTWARE", "PRINCIPAL"), right=_NUMBERS)
    for each in found:
        cells = [each.client_id or "–", each.software_name, each.software_version]
        if whose:
            cells += [each.principal or "–", each.address]
        if wide:
            cells += [each.listener, str(each.broker), each.gateway or "", each.instance_id or "–", *_traffic(each, now_s)]
        view.add_row(*map(plain, cells), str(each.connections), _since(each, now_s), findings(each.findings))
    return view


def _since(client: ClientRow, now_s: float) -> str:
    """For how long it has been connected, or since when not any more."""
    if client.disconnected_ms is not None:
        return f"gone {age(now_s - client.disconnected_ms / 1000)}"
    return ("" if client.since_exact else ">") + age(now_s - client.since_ms / 1000)


def _traffic(client: ClientRow, now_s: float) -> Iterator[str]:
    """Connections per minute, bytes per second, and for how long none have passed; a dash for what is not known."""
    yield f"{client.opened_per_minute:g}"
    yield from ("–" if each is None else f"{each:,}" for each in (client.bytes_in_per_second, client.bytes_out_per_second))
    yield "–" if client.active_ms is None else age(now_s - client.active_ms / 1000)


def findings(summary: FindingsSummary | None) -> Text:
    """How many, and how bad the worst is: ``5, worst high``; a dash where nothing was judged, which is not clean."""
    if summary is None:
        return plain("–", "dim")
    said = f"{summary.count}{', worst' * (summary.count > 1)} {summary.worst or ''}"
    return plain(said.strip(), COLOURS.get(summary.worst or "", ""))


MOST_CANDIDATES = 20

_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
_STARTS_OF = {"client": "Starts of this client", "application": "Starts of its application"}


def fetch_client(api: Api, given: str) -> ClientDetail:
    """The client of this key, or of this client.id if one client alone has it: one that is connected, or else one that was lately.

    Raises:
        EnvironmentProblem: no serve answers, it requires a token, or it is still reading its topics.
        SettingsError: no client has this key or client.id, or several have it; lists them.
    """
    if _KEY.fullmatch(given) and (found := _of_key(api, given)) is not None:
        return found
    said = plain(given[:64]).plain
    for connected, about in (("yes", "connected clients"), ("no", "clients that were connected")):
        query = f"{term_text('client_id', given)} {term_text('connected', connected)}"
        named = api.get("clients", {"q": query, "limit": MOST_CANDIDATES}, ClientList)
        if named.total is None:
            raise EnvironmentProblem(
                "the page is still reading its topics; clients are not available yet", "repeat the command in a minute"
            )
        if len(named.items) == 1 and (found := _of_key(api, named.items[0].key)) is not None:
            return found
        if named.total > 1:
            raise SettingsError(f"{named.total} {about} have the client.id {said!r}", "\n".join(_candidates(named)))
    raise SettingsError(
        f"no client that is connected, or was lately, has the key or client.id {said!r}",
        "clientscope clients lists the connected ones, the client_view History of the page those of earlier days",
    )


def _of_key(api: Api, key: str) -> ClientDetail | None:
    try:
        return api.get(f"clients/{key}", {}, ClientDetail)
    except UnknownResource:
        return None


def _candidates(found: ClientList) -> Iterator[str]:
    """A line for each, with the key that names it."""
    yield "give the key of one of them:"
    for each in found.items:
        software = f"{each.software_name} {each.software_version}"
        yield plain(f"  {each.key}  {software}  {each.address}  {each.principal or '–'}").plain
    if more := (found.total or 0) - len(found.items):
        yield f"  and {more} more"


def client_view(detail: ClientDetail, now_s: float) -> RenderableType:
    """All of it: who, connections, findings, configuration, and starts.  What clients chose themselves is shown as it is."""
    parts: list[RenderableType] = [_title(detail), Text(), grid(_pairs(detail.client, detail.connected, now_s))]
    for heading, part in _sections(detail):
        parts += [Text(), plain(heading, "bold"), part]
    return Group(*parts)


def _title(detail: ClientDetail) -> Text:
    client = detail.client
    return Text.assemble(
        plain(client.client_id or "no client.id", "bold"),
        plain(f"  {client.software_name} {client.software_version}"),
        plain("  connected now" if detail.connected else "  not connected", "" if detail.connected else "dim"),
    )


def _pairs(client: ClientRow, connected: bool, now_s: float) -> Iterator[tuple[str, str]]:
    yield "principal", client.principal or "–"
    yield "owner", client.owner or "–"
    yield "application", client.application or "–"
    yield "address", client.address
    yield "listener", f"{client.listener} ({client.security_protocol})"
    yield "broker", f"{client.broker} by {client.gateway}, cluster {client.cluster}"
    yield "instance id", client.instance_id or "–"
    yield "connections", str(client.connections if connected else 0)
    earlier = "" if client.since_exact else "before "
    yield (
        "connected since" if connected else "was connected since",
        f"{earlier}{time_of(client.since_ms)} ({age(now_s - client.since_ms / 1000)} ago)",
    )
    if (gone := client.disconnected_ms) is not None:
        yield "last connected", f"{time_of(gone)} ({age(now_s - gone / 1000)} ago)"
    yield "key", client.key


def _sections(detail: ClientDetail) -> Iterator[tuple[str, RenderableType]]:
    if detail.findings is None:
        yield "Findings", plain("Its configuration was not judged, which is not clean.")
    elif not detail.findings:
        yield "Findings", plain("None.")
    else:
        yield f"Findings ({len(detail.findings)})", Group(*(grid(_finding(finding)) for finding in detail.findings))
    if detail.configuration is not None:
        yield _pushed(detail.configuration), _settings(detail.configuration.settings)
    if detail.starts:
        yield f"{_STARTS_OF[detail.starts_of]} ({len(detail.starts)}, the newest first)", grid(_starts(detail.starts))
    if detail.why:
        yield "Configuration" if detail.configuration is None else "Starts", plain(detail.why)
    if detail.connections:
        yield f"Connections ({detail.client.connections})", grid(map(_connection, detail.connections))


def _connection(each: ConnectionRow) -> tuple[str, str]:
    since = "before the records that were read" if each.opened_ms is None else time_of(each.opened_ms)
    return str(each.connection), f"broker {each.broker} by {each.gateway}, opened {since}"


def _finding(finding: Finding) -> Iterator[tuple[str | Text, str]]:
    yield plain(f"{finding.severity} {finding.code}", COLOURS[finding.severity]), unmarked(finding.message) or finding.name
    if finding.use_instead:
        yield "use instead", unmarked(finding.use_instead)
    yield "more", f"clientscope findings show {finding.fingerprint[:SHOWN_DIGITS]}"


def _pushed(configuration: Configuration) -> str:
    kind = f" of a {configuration.client_type}" if configuration.client_type else ""
    names = f", defaults of {configuration.dialect}" if configuration.dialect else ""
    return f"Configuration{kind} ({configuration.origin.replace('_', ' ')} {time_of(configuration.pushed_ms)}{names})"


def _settings(settings: Iterable[EffectiveSetting]) -> Table:
    made = table(("SETTING", "VALUE", "ORIGIN"), folds=("SETTING", "VALUE"))
    for setting in settings:
        made.add_row(
            plain(setting.key), plain(_value(setting)), plain(_origin(setting)), style=None if setting.origin != "default" else "dim"
        )
    return made


def _value(setting: EffectiveSetting) -> str:
    if setting.redacted:
        return redacted(setting.redacted)
    value = "unknown" if setting.value is None else setting.value
    return value if setting.pushed is None else f"{value} (pushed as {setting.pushed})"


def _origin(setting: EffectiveSetting) -> str:
    return setting.origin if setting.reported else f"{setting.origin}, not pushed"


def _starts(starts: Iterable[ClientStart]) -> Iterator[tuple[str, str | Text]]:
    for start in starts:
        who = f"{start.client_id or 'no client.id'}, {start.software_name} {start.software_version}, {start.address}"
        yield time_of(start.pushed_ms), f"{who}{', this client' if start.this else ''}"
        yield from (("", line) for line in _changes(start.changes))


def _changes(changes: Sequence[SettingChange] | None) -> Iterator[Text]:
    """``-`` before and ``+`` after, in one colour, since neither of them is the better one; None where there is nothing to compare with."""
    if changes is None:
        yield plain("no start before it to compare with", "dim")
    elif not changes:
        yield plain("no setting changed", "dim")
    else:
        for change in changes:
            if change.before is not None:
                yield plain(f"- {change.key} = {change.before}")
            if change.after is not None:
                yield plain(f"+ {change.key} = {change.after}")
