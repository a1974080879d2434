"""Table of the connected clients of all clusters, from the page's API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from clientscope.api.clients import ClientList, ConnectedClient, FindingsSummary
from clientscope.report import text
from clientscope.report.api import Api
from clientscope.report.findings.table import COLOURS
from clientscope.report.listing import is_narrow
from clientscope.report.text import age, counted, plain

FIELDS = (
    "key", "client_id", "software_name", "software_version", "principal", "address", "listener", "security_protocol", "broker", "cluster",
    "gateway", "instance_id", "application", "owner", "connections", "since_ms", "disconnected_ms", "opened_per_minute",
    "bytes_in_per_second", "bytes_out_per_second", "active_ms", "risks", "findings.worst", "findings.count",
)  # fmt: skip
"""Fields of a client, as the API names them."""

_MOST = 10_000
_WIDE = ("LISTENER", "BROKER", "GATEWAY", "INSTANCE", "OPENED/MIN", "IN B/S", "OUT B/S", "IDLE")
_NUMBERS = ("CONNECTIONS", "SINCE", "BROKER", "OPENED/MIN", "IN B/S", "OUT B/S", "IDLE")


def fetch(api: Api, search: str) -> tuple[list[ConnectedClient], list[str]]:
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


def table(found: Sequence[ConnectedClient], now_s: float, *, wide: bool = False) -> Table | None:
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
            cells += [each.listener, str(each.broker), each.gateway, each.instance_id or "–", *_traffic(each, now_s)]
        view.add_row(*map(plain, cells), str(each.connections), _since(each, now_s), findings(each.findings))
    return view


def _since(client: ConnectedClient, now_s: float) -> str:
    """For how long it has been connected, or since when not any more."""
    if client.disconnected_ms is not None:
        return f"gone {age(now_s - client.disconnected_ms / 1000)}"
    return ("" if client.since_exact else ">") + age(now_s - client.since_ms / 1000)


def _traffic(client: ConnectedClient, now_s: float) -> Iterator[str]:
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
