"""Live summary of the demo in the terminal."""

from __future__ import annotations

from collections import Counter

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clientscope.demo.watch import Snapshot
from clientscope.findings.wording import unmarked
from clientscope.report.findings import COLOURS, said
from clientscope.report.text import plain

_BAR = 24
_WORST = 5


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
    """How many there are, as the page counts them, and the most urgent, a line each."""
    if not snapshot.findings:
        return Text.assemble(("findings  ", "bold"), ("none yet", "dim"))
    lines = Table.grid(padding=(0, 2, 0, 0))
    for finding in snapshot.findings[:_WORST]:
        lines.add_row(Text(finding.severity, COLOURS[finding.severity]), Text(finding.code), plain(unmarked(finding.message), "dim"))
    more = len(snapshot.findings) - _WORST
    return Group(
        Text(said(Counter(each.severity for each in snapshot.findings)), "bold"),
        lines,
        Text(f"and {more} more, on the page" if more > 0 else "", "dim"),
    )
