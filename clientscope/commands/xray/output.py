"""The command's result on a terminal, as JSON, and as a page in one file, which needs nothing else and can be mailed and printed."""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import jinja2
from markupsafe import Markup
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from clientscope.commands.lint import formats, linting
from clientscope.commands.lint.findings import LintReport
from clientscope.commands.xray import XraySettings
from clientscope.commands.xray.result import AffectedApplication, ProblemRow, XrayResult, look
from clientscope.errors import SettingsError
from clientscope.readiness import Readiness
from clientscope.readiness.rows import NAMES, ReadinessRow, clients_by_verdict
from clientscope.report.findings import COLOURS
from clientscope.report.listing import print_view
from clientscope.report.text import counted, table

_MOST_SOFTWARE = 15
_MOST_AFFECTED = 3
_MOST_READINESS = 10
READINESS_COLOURS = {Readiness.BREAKS: "red", Readiness.UNKNOWN: "yellow", Readiness.FALLS_BACK: "cyan", Readiness.FINE: "green"}


def run(settings: XraySettings) -> int:
    """Prints the result; the command's exit status.

    Raises:
        ClientscopeError: something is wrong with the settings, the rules file or owners.toml.
    """
    made = look(settings)
    match settings.output_format:
        case "json":
            print(json_document(made))
        case "sarif":
            print(formats.sarif_document(made.lint))
        case _:
            for part in parts(made):
                print_view(part)
            if settings.statistics:
                print("\n".join(formats.statistics(made.lint)))
    if settings.html:
        write_page(settings.html, html_page(made))
    sys.stdout.flush()
    return linting.ended(settings, made.lint)


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
    head.append(f"{problem.severity} {problem.code}", COLOURS[problem.severity])
    head.append(f"  {problem.message}")
    yield head
    for each in problem.affected[:_MOST_AFFECTED]:
        yield _clients(each, f", {each.client_type}" if each.client_type else "", f"  {each.settings}" if each.settings else "")
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
            yield _clients(row)
        yield from _more(len(alike) - _MOST_AFFECTED, 6)
    yield from _more(len(troubled) - _MOST_READINESS, 2)


def _clients(of: AffectedApplication | ReadinessRow, kind: str = "", settings: str = "") -> Text:
    owner = f"  owner: {of.owner}" if of.owner else ""
    clients = f"  {of.clients:,} clients" if of.clients > 1 else ""
    return Text(f"      {of.application} ({of.principal}{kind}, {of.software}){settings}{clients}{owner}")


def _more(rows: int, indent: int) -> Iterator[RenderableType]:
    if rows > 0:
        yield Text(f"{' ' * indent}{rows:,} more", "dim")


VERSION = 1
"""Of the document's fields; a field that goes, or means something else, makes it one more."""


def json_document(made: XrayResult) -> str:
    """The whole result."""
    fields = {
        "version": VERSION,
        **asdict(replace(made, lint=LintReport(()))),
        "made_at": made.made_at.isoformat(timespec="seconds"),
        "requests": made.requests,
        "lint": formats.json_fields(made.lint),
    }
    return json.dumps(fields, indent=2, ensure_ascii=False)


MOST_ROWS = 500
"""Of a table."""


def render_page(template: Path, every: str, readiness: Iterable[ReadinessRow], **values: object) -> str:
    """A page's HTML; whatever a client chose is escaped.

    Args:
        template: extends ``base.html``.
        every: the option that shows the rows beyond `MOST_ROWS`.
        readiness: of all clients.
    """

    def more(rows: Sequence[object]) -> str:
        left = len(rows) - MOST_ROWS
        return Markup('<p class="soft">{} more; {} has all.</p>').format(f"{left:,}", every) if left > 0 else ""

    loader = jinja2.FileSystemLoader([template.parent, Path(__file__).parent])
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, loader=loader)
    environment.globals["counted"] = counted
    verdicts = clients_by_verdict(readiness)
    return environment.get_template(template.name).render(verdicts=verdicts, names=NAMES, most=MOST_ROWS, more=more, **values)


def write_page(path: Path, html: str) -> None:
    """Writes a page, whole or not at all, and says so.

    Raises:
        SettingsError: the file can't be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(html, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise SettingsError(f"--html {path}: {error.strerror}", "give a file in a directory that this user may write to") from None
    print(f"wrote {path}", file=sys.stderr)


_TEMPLATE = Path(__file__).with_name("report.html")


def html_page(made: XrayResult) -> str:
    """The page's HTML; whatever a client chose is escaped."""
    return render_page(
        _TEMPLATE,
        "--output-format json",
        made.readiness,
        made=made,
        target=made.target,
        unseen=made.unseen,
        logs=made.logs,
        figures=[
            (made.clients, "client", "clients"),
            (made.applications, "application", "applications"),
            (made.connections, "connection", "connections"),
            (len(made.problems), "finding", "findings"),
            (made.requests, "request read", "requests read"),
        ],
        troubled=[row for row in made.readiness if row.readiness is not Readiness.FINE],
    )
