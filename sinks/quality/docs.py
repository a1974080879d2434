"""Data Docs: pages that Great Expectations renders of suites and validations, made self-contained. Imported where
`sinks.quality.validation` is.

The library's own site builder would load styles and scripts from five hosts, and lists results by script alone.  So its renderers
make each page, `sinks.quality.pages` keeps what doesn't come from elsewhere, and a plain list links the pages.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import great_expectations as gx
from great_expectations.core import ExpectationSuiteValidationResult
from great_expectations.core.run_identifier import RunIdentifier
from great_expectations.render.renderer.page_renderer import ExpectationSuitePageRenderer, ValidationResultsPageRenderer
from great_expectations.render.view import DefaultJinjaPageView

from sinks.quality.pages import INDEX, page, without_elsewhere
from sinks.quality.suites import SUITES

EVERY_S = 300.0
"""Seconds: how often a topic's pages are made at most, each a twentieth of a second."""

MOST_RESULTS = 24
"""Validations of a topic that are kept."""

_NAME = re.compile(r"(?P<topic>[a-z.]+)-(?P<at>\d{8}T\d{6}Z)-(?P<outcome>passed|failed)\.html")
"""Of a validation's page."""


class DataDocs:
    """The pages in one folder, which outlive the process.  Not for two threads at a time.

    Each file is replaced as a whole, so a reader sees either the old one or the new one.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made_s: dict[str, float] = {}
        self._waiting: dict[str, tuple[ExpectationSuiteValidationResult, bool, float]] = {}

    def add(self, suite: gx.ExpectationSuite, result: ExpectationSuiteValidationResult, success: bool, now: float) -> None:
        """Takes in a validation.  Of those between two builds the newest is shown, or the newest that failed.

        Args:
            success: whether all was as expected.
            now: seconds since the epoch.

        Raises:
            OSError: they can't be written.
        """
        waiting = self._waiting.get(suite.name)
        if waiting is None or waiting[1] or not success:
            self._waiting[suite.name] = result, success, now
        if now - self._made_s.get(suite.name, 0.0) < EVERY_S:
            return
        result, success, at_s = self._waiting.pop(suite.name)
        self._made_s[suite.name] = now
        self._folder.mkdir(parents=True, exist_ok=True)
        time = datetime.fromtimestamp(at_s, UTC)
        at = time.strftime("%Y%m%dT%H%M%SZ")
        result.meta["run_id"] = RunIdentifier(run_name="sample", run_time=time)  # the page's heading
        name = f"{suite.name}-{at}-{'passed' if success else 'failed'}.html"
        self._replace(name, _page(f"{suite.name}, {_shown(at)}", ValidationResultsPageRenderer(), result))
        self._replace(f"{suite.name}.html", _page(suite.name, ExpectationSuitePageRenderer(), suite))
        results = self._results()
        newest = {each for topic in SUITES for each in [one for one in results if one["topic"] == topic][:MOST_RESULTS]}
        kept = [each for each in results if each in newest]
        self._replace(INDEX, _index(kept))
        for each in results:
            if each not in kept:
                (self._folder / each[0]).unlink(missing_ok=True)

    def _results(self) -> list[re.Match[str]]:
        """By their files' names, the newest first."""
        found = (_NAME.fullmatch(path.name) for path in self._folder.iterdir())
        return sorted(filter(None, found), key=lambda one: one["at"], reverse=True)

    def _replace(self, name: str, text: str) -> None:
        unfinished = self._folder / f".{name}.tmp"
        unfinished.write_text(text, "utf-8")
        unfinished.replace(self._folder / name)


def _page(title: str, renderer: Any, of: Any) -> str:
    return page(title, without_elsewhere(str(DefaultJinjaPageView().render(renderer.render(of)))))


def _index(results: Iterable[re.Match[str]]) -> str:
    rows = "".join(
        f'<tr><td>{each["outcome"]}</td><td><a href="{html.escape(each[0])}">{_shown(each["at"])}</a></td>'
        f'<td><a href="{html.escape(each["topic"])}.html">{html.escape(each["topic"])}</a></td></tr>'
        for each in results
    )
    return page(
        "Data quality",
        "<h1>Data quality</h1><p>Samples of the records that were decoded, against what is expected of them. Each line is one sample; of "
        "five minutes the last, or the last that failed.</p>"
        "<table><thead><tr><th>Outcome</th><th>Time, UTC</th><th>Expectations</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
        "<p>Rendered by Great Expectations. Values are in none of it: what is validated are lengths, codes and counts.</p>",
    )


def _shown(at: str) -> str:
    return datetime.strptime(at, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).strftime("%Y-%m-%d %H:%M:%S")
