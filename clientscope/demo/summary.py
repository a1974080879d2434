"""The demo's live summary in the terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clientscope.demo.watch import Snapshot

_BAR = 24


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
    findings = Text("findings  ", "bold")
    if not snapshot.findings:
        findings.append("none yet", "dim")
    for code, count in sorted(snapshot.findings.items()):
        findings.append(f"{code} ×{count} ", "red" if code.startswith("SK") else "yellow")
        findings.append(f"({snapshot.named[code]})  ", "dim")
    status = Text.assemble(
        ("pushes    ", "bold"), str(snapshot.pushes), "    ", ("page  ", "bold"), page, f"    {seconds} s", "    Ctrl-C ends it"
    )
    return Group(Text(), table, Text(), findings, status)
