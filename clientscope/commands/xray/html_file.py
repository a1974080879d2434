"""Pages in one file, which need nothing else and can be mailed and printed: templates here and beside a command, and writing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import jinja2
from markupsafe import Markup

from clientscope.errors import SettingsError
from clientscope.readiness.rows import NAMES, ReadinessRow, clients_by_verdict
from clientscope.report.text import counted

MOST_ROWS = 500
"""Of a table."""


class Verdicts(NamedTuple):
    """How many clients have a verdict."""

    key: str
    name: str
    clients: int


def render(template: Path, every: str, readiness: Iterable[ReadinessRow], **values: object) -> str:
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
    verdicts = [Verdicts(each.value, NAMES[each], clients) for each, clients in clients_by_verdict(readiness).items()]
    return environment.get_template(template.name).render(verdicts=verdicts, names=NAMES, most=MOST_ROWS, more=more, **values)


def write(path: Path, html: str) -> None:
    """Writes a page, whole or not at all.

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
