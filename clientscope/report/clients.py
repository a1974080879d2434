"""Table of the connected clients of all clusters, from the page's API."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from clientscope.api.clients import ClientList, ConnectedClient, FindingsSummary
from clientscope.report.api import Api
from clientscope.report.findings.table import COLOURS
from clientscope.report.text import age, plain

FIELDS = (
    "key", "client_id", "software_name", "software_version", "principal", "address", "listener", "security_protocol", "broker", "cluster",
    "gateway", "instance_id", "application", "owner", "connections", "since_ms", "disconnected_ms", "opened_per_minute",
    "bytes_in_per_second", "bytes_out_per_second", "active_ms", "risks", "findings.worst", "findings.count",
)  # fmt: skip
"""Fields of a client, as the API names them."""

_MOST = 10_000


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
        return items, [f"{total - len(items)} more clients are connected; narrow the search, or use the page's export"]
    if not items:
        return items, ["no client is connected" if not search else "no client matches"]
    return items, []


def table(found: Sequence[ConnectedClient], now_s: float, *, wide: bool = False) -> Table | None:
    """A row for each; what clients chose themselves is shown as it is."""
    if not found:
        return None
    view = Table(header_style="bold", box=None, pad_edge=False)
    more = ("LISTENER", "BROKER", "GATEWAY", "INSTANCE") if wide else ()
    for heading in ("CLIENT.ID", "SOFTWARE", "VERSION", "PRINCIPAL", "ADDRESS", *more, "CONNECTIONS", "SINCE", "FINDINGS"):
        justify: JustifyMethod = "right" if heading in ("CONNECTIONS", "SINCE", "BROKER") else "left"
        view.add_column(heading, overflow="fold", no_wrap=heading not in ("CLIENT.ID", "SOFTWARE", "PRINCIPAL"), justify=justify)
    for each in found:
        cells = [each.client_id or "–", each.software_name, each.software_version, each.principal or "–", each.address]
        if wide:
            cells += [each.listener, str(each.broker), each.gateway, each.instance_id or "–"]
        since = ("" if each.since_exact else ">") + age(now_s - each.since_ms / 1000)
        view.add_row(*map(plain, cells), str(each.connections), since, _findings(each.findings))
    return view


def _findings(summary: FindingsSummary | None) -> Text:
    """How many and how bad; a dash where nothing was judged, which is not clean."""
    if summary is None:
        return plain("–", "dim")
    if not summary.count:
        return plain("0")
    return plain(f"{summary.count} {summary.worst}", COLOURS.get(summary.worst or "", ""))
