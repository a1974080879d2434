"""The result on a terminal: as much as a person reads at once; ``--output-format json`` has everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from clientscope.commands.xray.result import ProblemRow, ReadinessRow, XrayResult
from clientscope.readiness import Readiness
from clientscope.report.listing import console

_MOST_SOFTWARE = 15
_MOST_AFFECTED = 3
_MOST_READINESS = 10
_COLOURS = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan", "info": "dim"}
_READINESS = {
    Readiness.BREAKS: ("breaks", "red"),
    Readiness.UNKNOWN: ("can't be judged yet", "yellow"),
    Readiness.FALLS_BACK: ("falls back", "cyan"),
    Readiness.FINE: ("fine", "green"),
}


def show(made: XrayResult) -> None:
    """Prints it."""
    usual = Console(highlight=False)
    for part in parts(made):
        console(usual, part).print(part)


def parts(made: XrayResult) -> Iterator[RenderableType]:
    """Heading, software, findings, upgrade readiness, and what couldn't be seen."""
    size = sum(log.size for log in made.logs) / 1024**2
    yield Text(
        f"{_counted(made.clients, 'client')} of {_counted(made.applications, 'application')} "
        f"on {_counted(made.connections, 'connection')}, by {_counted(made.requests, 'request')} in {size:.1f} MiB of logs",
        "bold",
    )
    if made.software:
        yield Text("\nSoftware", "bold")
        yield Padding(_software(made), (0, 0, 0, 2))
    if made.problems:
        yield Text("\nFindings", "bold")
        for problem in made.problems:
            yield from _problem(problem)
    elif made.clients:
        yield Text("\nFindings: none", "bold")
    if made.readiness:
        yield Text(f"\nUpgrade to Kafka {made.target}", "bold")
        yield from _readiness(made.readiness)
    yield Text("\nNot seen", "bold")
    for text in made.unseen:
        yield Padding(Text(f"· {text}"), (0, 0, 0, 2))


def _software(made: XrayResult) -> Table:
    view = Table(header_style="bold", box=None, pad_edge=False)
    for heading in ("SOFTWARE", "VERSION", "CLIENTS", "CONNECTIONS", "APPLICATIONS"):
        view.add_column(heading, overflow="fold", justify="left" if heading in ("SOFTWARE", "VERSION") else "right")
    for row in made.software[:_MOST_SOFTWARE]:
        view.add_row(Text(row.name), Text(row.version), f"{row.clients:,}", f"{row.connections:,}", f"{row.applications:,}")
    if (more := len(made.software) - _MOST_SOFTWARE) > 0:
        view.add_row(Text(f"{more} more", "dim"))
    return view


def _problem(problem: ProblemRow) -> Iterator[RenderableType]:
    head = Text("  ")
    head.append(f"{problem.severity} {problem.code}", _COLOURS[problem.severity])
    head.append(f"  {problem.message}")
    yield head
    for each in problem.affected[:_MOST_AFFECTED]:
        kind = f", {each.client_type}" if each.client_type else ""
        owner = f"  owner: {each.owner}" if each.owner else ""
        clients = f"  {each.clients:,} clients" if each.clients > 1 else ""
        settings = f"  {each.settings}" if each.settings else ""
        yield Text(f"      {each.application} ({each.principal}{kind}, {each.software}){settings}{clients}{owner}")
    if (more := len(problem.affected) - _MOST_AFFECTED) > 0:
        yield Text(f"      {more} more", "dim")


def _readiness(rows: tuple[ReadinessRow, ...]) -> Iterator[RenderableType]:
    clients: Counter[Readiness] = Counter()
    for row in rows:
        clients[row.readiness] += row.clients
    line = Text("  ")
    for readiness, (name, colour) in _READINESS.items():
        if clients[readiness]:
            line.append(f"{name}: {clients[readiness]:,}  ", colour)
    yield line
    troubled = [row for row in rows if row.readiness in (Readiness.BREAKS, Readiness.UNKNOWN)]
    for row in troubled[:_MOST_READINESS]:
        name, colour = _READINESS[row.readiness]
        text = Text("  ")
        text.append(name, colour)
        count = f"  {row.clients:,} clients" if row.clients > 1 else ""
        text.append(f"  {row.application} ({row.principal}, {row.software}){count}")
        yield text
        yield Padding(Text(" ".join(filter(None, (row.reason, row.advice)))), (0, 0, 0, 6))
    if (more := len(troubled) - _MOST_READINESS) > 0:
        yield Text(f"  {more} more", "dim")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
