"""Live summary of the demo in the terminal."""

from __future__ import annotations

from collections import Counter

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clientscope.demo.watch import Snapshot
from clientscope.severities import SEVERITIES

_BAR = 24
_WORST = 5
_STYLES = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan", "info": "dim"}


def render(snapshot: Snapshot, page: str, seconds: int) -> RenderableType:
    """A table of connections per software name and version, and a line each for pushes and findings."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("software")
    table.add_column("version")
    table.add_column("connections", justify="right")
    table.add_column("")
    table.add_column("pushes?", style="dim")
    most = max(snapshot.connections.values(), default=1)
    for (name, version), count in sorted(snapshot.connections.items(), key=lambda item: (-item[1], item[0])):
        bar = "█" * max(1, round(_BAR * count / most))
        table.add_row(Text(name), Text(version), str(count), Text(bar, "cyan"), "yes" if (name, version) in snapshot.pushing else "–")
    if not snapshot.connections:
        table.add_row("[dim]waiting for the first gauge…", "", "", "", "")
    status = Text.assemble(
        ("pushes    ", "bold"), str(snapshot.pushes), "    ", ("page  ", "bold"), page, f"    {seconds} s", "    Ctrl-C ends it"
    )
    return Group(Text(), table, Text(), _findings(snapshot), Text(), status)


def _findings(snapshot: Snapshot) -> RenderableType:
    """The worst, a line each; how many rules more fired, by severity."""
    if not snapshot.findings:
        return Text.assemble(("findings  ", "bold"), ("none yet", "dim"))
    order = sorted(snapshot.findings, key=lambda code: (-SEVERITIES.index(snapshot.severities[code]), code))
    lines = Table.grid(padding=(0, 2, 0, 0))
    for place, code in enumerate(order[:_WORST]):
        severity = snapshot.severities[code]
        head = Text("findings" if place == 0 else "", "bold")
        lines.add_row(
            head, Text(severity, _STYLES[severity]), Text(f"{code} ×{snapshot.findings[code]}"), Text(snapshot.named[code], "dim")
        )
    more = Counter(snapshot.severities[code] for code in order[_WORST:])
    if more:
        said = ", ".join(f"{more[severity]} {severity}" for severity in reversed(SEVERITIES) if more[severity])
        lines.add_row("", "", "", Text(f"and {said}: on the page", "dim"))
    return lines
