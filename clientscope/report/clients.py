"""``clientscope clients``: who is connected anywhere in the clusters, as the page has it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from clientscope.config import ClientsSettings
from clientscope.report.api import Api
from clientscope.report.findings.table import COLOURS
from clientscope.report.listing import Listed, Row, show
from clientscope.report.text import age, plain

FIELDS = (
    "key", "client_id", "software_name", "software_version", "principal", "address", "listener", "security_protocol", "broker", "cluster",
    "gateway", "instance_id", "application", "connections", "since_ms", "findings",
)  # fmt: skip
"""Of a client, as the API names them."""

_MOST = 10_000


def run(settings: ClientsSettings) -> None:
    """Prints the clients that the search finds.

    Raises:
        EnvironmentProblem: no serve answers, or it wants a token.
        SettingsError: the search is wrong; says where.
    """
    api = Api(settings)

    def ask() -> Listed[Row]:
        answer = api.get("clients", {"q": " ".join(settings.search), "limit": _MOST})
        items, total = list(answer["items"]), answer["total"]
        left_out = []
        if total is None:
            left_out.append("the page is still reading its topics, and can't say who is connected yet")
        elif total > len(items):
            left_out.append(f"{total - len(items)} more are connected; name some of them, or take the page's export")
        elif not items:
            left_out.append("nobody is connected" if not settings.search else "no client is like that")
        return Listed(
            items,
            row=lambda item: item,
            name=lambda item: str(item["key"]),
            table=lambda found, wide: table(found, time.time(), wide=wide),
            left_out=left_out,
        )

    show(settings, FIELDS, ask)


def table(found: Sequence[Row], now_s: float, *, wide: bool = False) -> Table | None:
    """A row for each; what clients chose themselves is shown as it is."""
    if not found:
        return None
    view = Table(header_style="bold", box=None, pad_edge=False)
    more = ("LISTENER", "BROKER", "GATEWAY", "INSTANCE") if wide else ()
    for heading in ("CLIENT.ID", "SOFTWARE", "VERSION", "PRINCIPAL", "ADDRESS", *more, "CONNECTIONS", "SINCE", "FINDINGS"):
        justify: JustifyMethod = "right" if heading in ("CONNECTIONS", "SINCE", "BROKER") else "left"
        view.add_column(heading, overflow="fold", no_wrap=heading not in ("CLIENT.ID", "SOFTWARE", "PRINCIPAL"), justify=justify)
    for each in found:
        cells = [each["client_id"] or "–", each["software_name"], each["software_version"], each["principal"] or "–", each["address"]]
        if wide:
            cells += [each["listener"], str(each["broker"]), each["gateway"], each["instance_id"] or "–"]
        since = ("" if each["since_exact"] else ">") + age(now_s - each["since_ms"] / 1000)
        view.add_row(*map(plain, cells), str(each["connections"]), since, _findings(each["findings"]))
    return view


def _findings(summary: dict[str, Any] | None) -> Text:
    """How many and how bad; a dash where nothing was judged, which is not clean."""
    if summary is None:
        return plain("–", "dim")
    if not summary["count"]:
        return plain("0")
    worst = str(summary["worst"])
    return plain(f"{summary['count']} {worst}", COLOURS.get(worst, ""))
