"""The result on a terminal: as much as a person reads at once; ``--output-format json`` has everything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from clientscope.commands.xray.result import ProblemRow, XrayResult
from clientscope.readiness import Readiness
from clientscope.readiness.rows import NAMES, ReadinessRow, clients_by_verdict
from clientscope.report.listing import console
from clientscope.report.text import counted, table

_MOST_SOFTWARE = 15
_MOST_AFFECTED = 3
_MOST_READINESS = 10
_COLOURS = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan", "info": "dim"}
READINESS_COLOURS = {Readiness.BREAKS: "red", Readiness.UNKNOWN: "yellow", Readiness.FALLS_BACK: "cyan", Readiness.FINE: "green"}


def show(made: XrayResult) -> None:
    """Prints it."""
    usual = Console(highlight=False)
    for part in parts(made):
        console(usual, part).print(part)


def parts(made: XrayResult) -> Iterator[RenderableType]:
    """Heading, software, findings, upgrade readiness, and what couldn't be seen."""
    size = sum(log.size for log in made.logs) / 1024**2
    yield Text(
        f"{counted(made.clients, 'client')} of {counted(made.applications, 'application')} "
        f"on {counted(made.connections, 'connection')}, by {counted(made.requests, 'request')} in {size:.1f} MiB",
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
    numbers = ("CLIENTS", "CONNECTIONS", "APPLICATIONS")
    view = table(("SOFTWARE", "VERSION", *numbers), folds=("SOFTWARE", "VERSION"), right=numbers)
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
    yield from _more(len(problem.affected) - _MOST_AFFECTED, 6)


def _readiness(rows: tuple[ReadinessRow, ...]) -> Iterator[RenderableType]:
    line = Text("  ")
    for readiness, clients in clients_by_verdict(rows).items():
        line.append(f"{NAMES[readiness]}: {counted(clients, 'client')}  ", READINESS_COLOURS[readiness])
    yield line
    troubled: dict[tuple[Readiness, str], list[ReadinessRow]] = defaultdict(list)
    for row in rows:
        if row.readiness in (Readiness.BREAKS, Readiness.UNKNOWN):
            troubled[row.readiness, " ".join(filter(None, (row.reason, row.advice)))].append(row)
    for (readiness, reason), alike in list(troubled.items())[:_MOST_READINESS]:
        text = Text("  ")
        text.append(NAMES[readiness], READINESS_COLOURS[readiness])
        text.append(f"  {reason}")
        yield text
        for row in alike[:_MOST_AFFECTED]:
            count = f"  {row.clients:,} clients" if row.clients > 1 else ""
            owner = f"  owner: {row.owner}" if row.owner else ""
            yield Text(f"      {row.application} ({row.principal}, {row.software}){count}{owner}")
        yield from _more(len(alike) - _MOST_AFFECTED, 6)
    yield from _more(len(troubled) - _MOST_READINESS, 2)


def _more(rows: int, indent: int) -> Iterator[RenderableType]:
    if rows > 0:
        yield Text(f"{' ' * indent}{rows:,} more", "dim")
