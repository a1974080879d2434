"""``--html``: the result as a page in one file, which needs nothing else and can be mailed and printed."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import jinja2
from markupsafe import Markup

from clientscope.commands.xray.result import NAMES, XrayResult
from clientscope.errors import SettingsError
from clientscope.readiness import Readiness

MOST_ROWS = 500
"""Of a table; ``--output-format json`` has all."""


class Verdicts(NamedTuple):
    """How many clients have a verdict."""

    key: str
    name: str
    clients: int


def page(made: XrayResult) -> str:
    """The page's HTML; whatever a client chose is escaped."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(Path(__file__).with_name("report.html").read_text(encoding="utf-8"))
    clients: Counter[Readiness] = Counter()
    for row in made.readiness:
        clients[row.readiness] += row.clients
    return template.render(
        made=made,
        figures=[
            (made.clients, "clients"),
            (made.applications, "applications"),
            (made.connections, "connections"),
            (len(made.problems), "findings"),
            (made.requests, "requests read"),
        ],
        verdicts=[Verdicts(each.value, name, clients[each]) for each, name in NAMES.items() if clients[each]],
        troubled=[row for row in made.readiness if row.readiness is not Readiness.FINE],
        names=NAMES,
        most=MOST_ROWS,
        more=_more,
    )


def write(path: Path, made: XrayResult) -> None:
    """Writes the page, whole or not at all.

    Raises:
        SettingsError: the file can't be written.
    """
    try:
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
            file.write(page(made))
        Path(file.name).chmod(0o644)
        Path(file.name).replace(path)
    except OSError as error:
        raise SettingsError(f"--html {path}: {error.strerror}", "give a file in a directory that this user may write to") from None


def _more(rows: Sequence[object]) -> str:
    left = len(rows) - MOST_ROWS
    return Markup('<p class="soft">{} more; --output-format json has all.</p>').format(f"{left:,}") if left > 0 else ""
