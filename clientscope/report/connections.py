"""``clientscope connections``: who is connected to a gateway now."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from clientscope.config import ConnectionsSettings
from clientscope.errors import EnvironmentProblem
from clientscope.report.text import plain
from clientscope.report.versions import matcher

_EVERY_S = 2.0
Connection = dict[str, Any]


def run(settings: ConnectionsSettings) -> None:
    """Prints the connections that the filters leave, once, or again and again.

    Raises:
        EnvironmentProblem: no gateway answers.
        SettingsError: a filter that is none.
    """
    console = Console()
    select(settings, [])  # a wrong filter is said before anything is asked
    if settings.json_lines:
        while True:
            for connection in select(settings, fetch(settings.admin)):
                print(json.dumps(connection), flush=True)
            if not settings.watch:
                return
            time.sleep(_EVERY_S)
    if not settings.watch:
        console.print(table(select(settings, fetch(settings.admin)), time.time()))
        return
    with Live(console=console, auto_refresh=False, screen=console.is_terminal) as live:
        while True:
            live.update(table(select(settings, fetch(settings.admin)), time.time()), refresh=True)
            time.sleep(_EVERY_S)


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


def table(connections: list[Connection], now_s: float) -> Table:
    """A table of them; what clients chose themselves is shown as it is, never as markup or control characters."""
    listeners = ", ".join(sorted({f"{c['Listener']} ({c['SecurityProtocol']})" for c in connections}))
    title = f"{len(connections)} connection{'s' * (len(connections) != 1)}{' on listener ' * bool(listeners)}{listeners}"
    view = Table(title=plain(title), title_justify="left", header_style="bold", box=None)
    for heading in ("SOFTWARE", "VERSION", "CLIENT.ID", "ADDRESS", "PRINCIPAL", "OPEN"):
        # On a narrow terminal a long client.id takes a second line, rather than an address its end.
        folds = heading in ("SOFTWARE", "CLIENT.ID", "PRINCIPAL")
        view.add_column(heading, overflow="fold", no_wrap=not folds, justify="right" if heading == "OPEN" else "left")
    for c in connections:
        name, version = c["Inferred"] or (c["ClientName"], c["ClientVersion"])
        inferred = " (inferred)" if c["Inferred"] else ""
        cells = (name + inferred, version, c["ClientId"] or "–", c["ClientAddress"], c["Principal"] or "–")
        view.add_row(*map(plain, cells), age(now_s - c["OpenedMs"] / 1000), style="dim" if name == "unknown" else None)
    return view


def age(seconds: float) -> str:
    """``42 s``, ``7 min``, ``3 h``, ``2 d``."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
