"""``clientscope connections``: who is connected to a gateway now."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from rich.table import Table

from clientscope.config import ConnectionsSettings
from clientscope.errors import EnvironmentProblem
from clientscope.report.listing import Listed, show
from clientscope.report.text import age, plain
from clientscope.report.versions import matcher

Connection = dict[str, Any]


FIELDS = (
    "ConnectionId", "ClientId", "ClientName", "ClientVersion", "Inferred", "ClientAddress", "Principal", "ClientInstanceId", "Listener",
    "SecurityProtocol", "OpenedMs",
)  # fmt: skip
"""Of a connection, as the gateway's admin address names them."""


def run(settings: ConnectionsSettings) -> None:
    """Prints the connections that the filters leave, once, or again and again.

    Raises:
        EnvironmentProblem: no gateway answers.
        SettingsError: a filter that is none.
    """
    select(settings, [])  # a wrong filter is said before anything is asked

    def ask() -> Listed[Connection]:
        chosen = select(settings, fetch(settings.admin))
        return Listed(
            chosen,
            row=lambda connection: connection,
            name=lambda connection: str(connection["ConnectionId"]),
            table=lambda connections, wide: table(connections, time.time(), wide=wide),
        )

    show(settings, FIELDS, ask)


def fetch(admin: str) -> list[Connection]:
    """What the gateway's admin address lists.

    Raises:
        EnvironmentProblem: nobody answers there, or not a gateway.
    """
    try:
        with urllib.request.urlopen(f"http://{admin}/v1/connections", timeout=10) as response:
            return list(json.load(response))
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise EnvironmentProblem(
            f"no gateway answers at {admin}: {reason}", "run this on the gateway's machine; --admin is its --admin-listen"
        ) from None


def select(settings: ConnectionsSettings, connections: Iterable[Connection]) -> list[Connection]:
    """Those that the filters leave, in the order of software, version, client.id and age."""
    version = matcher(settings.software_version)
    chosen = [
        connection
        for connection in connections
        if version(connection["ClientVersion"])
        and all(
            not pattern or fnmatchcase(connection[field] or "", pattern)
            for field, pattern in (("ClientName", settings.software), ("ClientId", settings.client_id), ("Principal", settings.principal))
        )
    ]
    return sorted(chosen, key=lambda c: (c["ClientName"], c["ClientVersion"], c["ClientId"] or "", c["OpenedMs"]))


def table(connections: Sequence[Connection], now_s: float, *, wide: bool = False) -> Table:
    """A table of them; what clients chose themselves is shown as it is, never as markup or control characters."""
    listeners = ", ".join(sorted({f"{c['Listener']} ({c['SecurityProtocol']})" for c in connections}))
    title = f"{len(connections)} connection{'s' * (len(connections) != 1)}{' on listener ' * bool(listeners)}{listeners}"
    view = Table(title=plain(title), title_justify="left", header_style="bold", box=None)
    for heading in ("SOFTWARE", "VERSION", "CLIENT.ID", "ADDRESS", "PRINCIPAL", *(("INSTANCE", "ID") if wide else ()), "OPEN"):
        # On a narrow terminal a long client.id takes a second line, rather than an address its end.
        folds = heading in ("SOFTWARE", "CLIENT.ID", "PRINCIPAL")
        view.add_column(heading, overflow="fold", no_wrap=not folds, justify="right" if heading in ("OPEN", "ID") else "left")
    for c in connections:
        name, version = c["Inferred"] or (c["ClientName"], c["ClientVersion"])
        inferred = " (inferred)" if c["Inferred"] else ""
        cells = [name + inferred, version, c["ClientId"] or "–", c["ClientAddress"], c["Principal"] or "–"]
        if wide:
            cells += [c["ClientInstanceId"] or "–", str(c["ConnectionId"])]
        view.add_row(*map(plain, cells), age(now_s - c["OpenedMs"] / 1000), style="dim" if name == "unknown" else None)
    return view
