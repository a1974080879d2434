"""Implementation of ``clientscope lint``: reads reading, judges them, prints the result, and chooses the exit status."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from clientscope.catalog.dialects import dialect as dialect_of
from clientscope.commands.lint import JudgingSettings, LintSettings, client_logs, formats, judging, reading, shown
from clientscope.commands.lint.findings import Decisions, LintReport, Read, report
from clientscope.errors import ClientscopeError, SettingsError
from clientscope.logs import files as log_files
from clientscope.logs.events import EVENTS
from clientscope.profiles import ProfileChoice, owners, rules_file
from clientscope.settings_files import MAX_BYTES
from clientscope.severities import SEVERITIES
from udfs.rules.registry import LIMITS

CLEAN, FOUND, WRONG = 0, 1, 2
"""Exit statuses: nothing at or above ``--fail-on``; something; wrong use, or a file that couldn't be read."""


_SILENT = "no client's settings are in this log: Java clients log them at INFO when they start, librdkafka's with debug=conf"


def run(settings: LintSettings) -> int:
    """Prints the rules' findings on the files; returns the command's exit status.

    Raises:
        ClientscopeError: something is wrong with the settings, the rules file or owners.toml.
    """
    made = lint(settings, datetime.now(UTC).date())
    try:
        for line in _lines(settings, made):
            print(line)
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has read enough; what was found stays found
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ended(settings, made)


def ended(settings: JudgingSettings, made: LintReport) -> int:
    """Prints what belongs on standard error; the command's exit status."""
    for error in made.errors:
        print(f"error: {error}", file=sys.stderr)
    if settings.statistics and settings.output_format == "sarif":
        print("\n".join(formats.statistics(made)), file=sys.stderr)
    if made.errors:
        return WRONG
    worst = max((finding.rank for finding in made.findings), default=-1)
    return FOUND if settings.fail_on != "never" and worst >= SEVERITIES.index(settings.fail_on) else CLEAN


def lint(settings: LintSettings, today: date) -> LintReport:
    """All that is found, and all that couldn't be read.

    Raises:
        ClientscopeError: something is wrong with the settings, the rules file or owners.toml.
    """
    reads, errors = _read(settings)
    return report_on(reads, settings, today, errors)


def report_on(reads: Sequence[Read], settings: JudgingSettings, today: date, errors: Sequence[str]) -> LintReport:
    """The report on the files that were read, by the rules and people's decisions.

    Raises:
        ClientscopeError: something is wrong with the rules file or owners.toml.
    """
    rules = (
        rules_file.read(settings.rules_file, LIMITS | {kind.code: () for kind in EVENTS}) if settings.rules_file else rules_file.RulesFile()
    )
    thresholds = rules_file.by_name(rules, settings.profile) if settings.profile else rules.thresholds
    owned = owners.read_if_given(settings.owners)
    by_address = not settings.profile and rules.thresholds.choose == ProfileChoice()  # nobody has chosen any
    if by_address:
        reads = [replace(read, notes=(*read.notes, *_services(read))) for read in reads]
    decisions = Decisions(rules.suppressions, owned, today)
    made = [
        report(
            read, [judging.judge(each, read.principal, thresholds, by_address) for each in read.subjects], judging.catalogue(), decisions
        )
        for read in reads
    ]
    expired = tuple(each for each in rules.suppressions if each.expired(today))
    return LintReport(tuple(sorted(made, key=lambda file: bool(file.skipped))), tuple(errors), expired)


def _services(read: Read) -> Iterator[tuple[int, str]]:
    """Which profile an address has chosen."""
    for name in dict.fromkeys(subject.service.name for subject in read.subjects if subject.service):
        yield 1, f"judged by the profile {name}, by its address; --profile chooses another"


def _lines(settings: JudgingSettings, made: LintReport) -> Iterator[str]:
    more = formats.statistics(made) if settings.statistics else iter(())
    match settings.output_format:
        case "json":
            yield formats.json_document(made)
        case "sarif":
            yield formats.sarif_document(made)
        case "github":
            yield from formats.github_lines(made, secrets.token_hex(16), more)
        case "concise":
            yield from formats.concise(made, formats.coloured())
            yield from more
        case _:
            yield from formats.full(made, formats.coloured())
            yield from more


def _read(settings: LintSettings) -> tuple[list[Read], list[str]]:
    if settings.dialect:
        dialect_of(settings.dialect)  # before any file is read
    reads: list[Read] = []
    errors: list[str] = []
    passed_over: list[str] = []
    for file in reading.find(settings.paths, passed_over):
        try:
            file_format = file.format(settings.format)
            if file_format == "log":
                file.require_end()
                of_log = client_logs.reads(shown.plain(file.shown), log_files.lines(file.path))
                reads += of_log or [Read(file.shown, skipped=_SILENT)]
                continue
            content = file.content()
            large = len(content) > MAX_BYTES
            reads.append(file.large(content) if large else reading.read(file.shown, content, file_format, settings))
        except ClientscopeError as error:
            # A directory has JSON, YAML and XML of every kind; what of that isn't whole is no client's settings.
            if file.named or file.path is None or file.path.suffix.lower() not in (".json", ".yaml", ".yml", ".xml"):
                errors.append(shown.plain(f"{error}; {error.hint}" if error.hint else str(error), 400))
            else:
                reads.append(Read(file.shown, skipped=str(error)))
    if not (reads or errors):
        raise SettingsError(
            f"no file to lint in {', '.join(shown.plain(path) for path in settings.paths)}",
            f"a directory is searched for {', '.join(f'*{suffix}' for suffix in reading.SUFFIXES)}",
        )
    if passed_over:
        why = f"{len(passed_over)} logs and source files, since a directory is searched for settings alone; name those that are to be read"
        reads.append(Read(", ".join(settings.paths), skipped=why, count=len(passed_over)))
    return [replace(read, principal=settings.principal or None) for read in reads], errors
