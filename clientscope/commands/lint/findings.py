"""Results of linting: findings with their places, rules that passed, rules that couldn't be evaluated, and suppressed findings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from clientscope.commands.lint import credentials, shown
from clientscope.commands.lint.judging import OF_ONE_CLIENT, RuleTexts, Subject, severity_of
from clientscope.commands.lint.placed import LINE_END, Placed, Region
from clientscope.commands.lint.shown import plain
from clientscope.findings.fingerprints import application_key, fingerprint
from clientscope.logs.events import EventKind
from clientscope.model.finding import Owner
from clientscope.model.result import Verdict
from clientscope.model.setting import Setting, SettingOrigin
from clientscope.profiles.client_patterns import ClientPattern, PatternSubject
from clientscope.profiles.owners import Owners
from clientscope.profiles.suppressions import ENDLESS, Suppression, suppressing
from clientscope.severities import SEVERITIES
from udfs.kernels.applications import of_client

_IGNORE = re.compile(r"(?:^|\s)[#!]\s*clientscope:\s*ignore\[([^\]]{0,200})\]\s*(.*)")
_COMMENT = re.compile(r"\s*(?:[#!].*)?")
_CODE = re.compile(r"[A-Z]{2}\d{3}")
MOST = 200
"""Comments of a file that are read."""


Ignored = tuple[int, Suppression]
"""The line of the setting that a comment is about, 0 for none, and what it suppresses there."""


def read_comments(path: str, content: bytes, file_format: str) -> tuple[list[Ignored], list[tuple[int, str]]]:
    """What a file's comments ignore (``# clientscope: ignore[AN112] reason``), and a note for each comment that counts for nothing.

    A comment counts for the setting on its own line, or else on the next line that is no comment; of findings that have no place in the
    file, one counts wherever it is.  Without a reason it counts for nothing.  Leaks of secrets can't be ignored so: who may write a file
    may not be who decides that.  JSON has no comments.
    """
    if file_format == "json":
        return [], []
    made: list[Ignored] = []
    notes: list[tuple[int, str]] = []
    lines = LINE_END.split(content.decode("utf-8", "replace"))
    for number, line in enumerate(lines, 1):
        if not (found := _IGNORE.search(line)):
            continue
        if len(made) >= MOST:
            notes.append((number, f"only the first {MOST} comments that ignore something are read"))
            break
        codes = [code.strip() for code in found[1].split(",")]
        reason = plain(found[2].strip())
        if credentials.in_lines([reason]):
            reason = f"‹a reason of {len(found[2].encode())} bytes, with a credential›"
        own_line = _COMMENT.fullmatch(line) is not None
        if file_format == "properties" and not own_line:
            continue  # a properties file has no comment behind a value: it is part of it
        following = (after for after in range(number + 1, len(lines) + 1) if not _COMMENT.fullmatch(lines[after - 1]))
        about = next(following, 0) if own_line else number
        if problem := _problem(codes, reason):
            notes.append((number, f"this comment ignores nothing: {problem}"))
            continue
        made += [(about, Suppression(code, ClientPattern(), reason, ENDLESS, f"{path}:{number}")) for code in codes]
    return made, notes


def _problem(codes: Iterable[str], reason: str) -> str:
    for code in codes:
        if not _CODE.fullmatch(code):
            return "expected codes of rules, such as ignore[AN112, CF105]"
        if code.startswith("SK"):
            return f"{code} is about a secret, which only the rules file can suppress"
    return "" if reason else "a reason has to follow, behind the bracket"


@dataclass(frozen=True, slots=True)
class FileSetting(Setting):
    """A setting of a finding, as it may be shown.

    Attributes:
        key: as the file has it, or Kafka's name for one that isn't in it.
        value: as in the file, or else the effective one, or its placeholder; None if it isn't known.
        line: where it is set; None for what isn't in the file.
    """

    line: int | None = None


@dataclass(frozen=True, slots=True)
class FileFinding:
    """A finding in a file: one with a place, and without times.

    Attributes:
        region: of the value that it is about; None where that isn't in the file.
        settings: those that decided; the first is the one that it is about.
    """

    rule: RuleTexts
    path: str
    owner: Owner | None
    fingerprint: str
    severity: str
    message: str
    region: Region | None
    settings: Sequence[FileSetting]

    @property
    def rank(self) -> int:
        """Worse is more."""
        return SEVERITIES.index(self.severity)

    @property
    def line(self) -> int:
        """Of the value; 1 where it isn't in the file."""
        return self.region.line if self.region else 1

    @property
    def column(self) -> int:
        """Of the value; 1 where it isn't in the file."""
        return self.region.column if self.region else 1


class Happened(NamedTuple):
    """An event of a client, with the line that says so.

    Attributes:
        settings: those that it is about.
    """

    kind: EventKind
    line: int
    settings: tuple[FileSetting, ...] = ()


class Instance(NamedTuple):
    """A client in a log.

    Attributes:
        client_id: empty for none.
        line: where its settings begin.
        starts: how often it started with these settings.
    """

    client_id: str
    software_version: str
    line: int
    starts: int


@dataclass(frozen=True)
class FileReport:
    """The result for one file.

    Attributes:
        outcomes: code → ``fired``, ``passed`` or ``not_evaluable``; rules that don't apply aren't there.
        suppressed: findings that a person has decided not to see.
        notes: other remarks about it, with the line.
        skipped: why it wasn't judged; empty if it was.
        instance: the client, where the file is a log of several.
        count: files that it stands for.
    """

    path: str
    client_types: tuple[str, ...] = ()
    findings: tuple[FileFinding, ...] = ()
    suppressed: tuple[tuple[FileFinding, Suppression], ...] = ()
    outcomes: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[tuple[int, str], ...] = ()
    skipped: str = ""
    instance: Instance | None = None
    count: int = 1


@dataclass(frozen=True)
class LintReport:
    """A whole run.

    Attributes:
        errors: what couldn't be read, one sentence each.
        expired: suppressions that count no longer.
    """

    files: tuple[FileReport, ...]
    errors: tuple[str, ...] = ()
    expired: tuple[Suppression, ...] = ()

    @property
    def findings(self) -> list[FileFinding]:
        """All of them, in the files' order."""
        return [finding for file in self.files for finding in file.findings]

    def count(self, outcome: str) -> int:
        """How many checks had this outcome, over all files."""
        return sum(each == outcome for file in self.files for each in file.outcomes.values())

    def statistics(self) -> list[tuple[str, str, Mapping[str, int]]]:
        """Code, worst severity found (or else the rule's), and how many findings, suppressed ones, and files by outcome."""
        counts: dict[str, Counter[str]] = {}
        severities: dict[str, str] = {}
        for file in self.files:
            for code, outcome in file.outcomes.items():
                counts.setdefault(code, Counter())[outcome] += 1
            for finding in file.findings:
                code = finding.rule.code
                counts[code]["findings"] += 1
                severities[code] = max(severities.get(code, "info"), finding.severity, key=SEVERITIES.index)
            for finding, _ in file.suppressed:
                counts[finding.rule.code]["suppressed"] += 1
        return [(code, severities.get(code, ""), counts[code]) for code in sorted(counts)]


@dataclass(frozen=True)
class Read:
    """A file that was read, before it is judged.

    Attributes:
        skipped, count: as a `FileReport` has them.
        principal: that the client authenticates as; None where it isn't known.
        ignored: by comments in it.
        named: Kafka's name → what an event says of its client, where no setting says it.
        happened: events that it says of the client.
    """

    path: str
    subjects: Sequence[Subject] = ()
    notes: tuple[tuple[int, str], ...] = ()
    instance: Instance | None = None
    principal: str | None = None
    ignored: tuple[Ignored, ...] = ()
    named: Mapping[str, str] = field(default_factory=dict)
    happened: tuple[Happened, ...] = ()
    skipped: str = ""
    count: int = 1


@dataclass(frozen=True)
class Decisions:
    """What people have decided: what not to tell, and whose it is."""

    suppressions: tuple[Suppression, ...]
    owners: Owners
    today: date


_Said = tuple[str, str, Region | None, Sequence[FileSetting]]
"""The last fields of a finding: severity and message, where in the file, and of which settings."""

_OUTCOMES = ("passed", "not_evaluable", "fired")
"""The last of them is reported for a file that is judged as several clients."""


def report(read: Read, judged: Sequence[Sequence[Verdict]], rules: Mapping[str, RuleTexts], decisions: Decisions) -> FileReport:
    """The report of a file, from the verdicts on its subjects.

    Args:
        judged: for each subject the verdicts on it.  A file for several clients is judged as each, and each finding is reported once.
    """
    if read.skipped:
        return FileReport(read.path, skipped=read.skipped, count=read.count)
    client = _client(read)
    outcomes: dict[str, str] = {}
    found: dict[tuple[str, str], FileFinding] = {}
    shared = sum(subject.complete for subject in read.subjects) > 1
    who = application_key(client.principal, of_client(client.client_id), client.group, client.path)
    owner = decisions.owners.of(client)

    def take(rule: RuleTexts, key: str, said: _Said) -> None:
        """What a rule, or an event, has found; of the same thing the first."""
        found.setdefault((rule.code, key), FileFinding(rule, read.path, owner, fingerprint(rule.code, who, key), *said))

    for subject, verdicts in zip(read.subjects, judged, strict=True):
        for verdict in verdicts:
            if shared and subject.complete and verdict.code == OF_ONE_CLIENT:
                continue
            outcomes[verdict.code] = max(outcomes.get(verdict.code, _OUTCOMES[0]), verdict.outcome, key=_OUTCOMES.index)
            if verdict.outcome != "fired":
                continue
            rule = rules[verdict.code]
            for about in _each(rule, verdict):
                key = rule.keys[0] if rule.keys and not rule.is_leak else about[0].key if about else ""
                if not subject.complete:  # one file has settings of several clients
                    key = subject.loose or next((placed.name for each in about if (placed := subject.placed(each.key))), key)
                take(rule, key, _said(read, subject, rule, verdict, about))
    for kind, line, about_it in read.happened:
        outcomes[kind.code] = "fired"
        rule = RuleTexts(kind.code, kind.name, kind.severity, (), kind.documentation, kind.source)
        take(rule, "", (kind.severity, kind.message, Region(line, 1, line, 1), about_it))
    findings, suppressed = [], []
    for finding in sorted(found.values(), key=_order):
        code, lines = finding.rule.code, {finding.line, *(setting.line for setting in finding.settings)}
        suppression = suppressing(decisions.suppressions, code, client, decisions.today)
        ignored = (each for about, each in read.ignored if each.code == code and (finding.region is None or about in lines))
        if suppression := suppression or next(ignored, None):
            suppressed.append((finding, suppression))
        else:
            findings.append(finding)
    types = tuple(dict.fromkeys(subject.client_type.value for subject in read.subjects if subject.client_type))
    return FileReport(read.path, types, tuple(findings), tuple(suppressed), outcomes, read.notes, instance=read.instance)


def _order(finding: FileFinding) -> tuple[bool, int, int, str]:
    """A sort key: the order of the file; findings without a place in it come last."""
    return finding.region is None, finding.line, finding.column, finding.rule.code


def _each(rule: RuleTexts, verdict: Verdict) -> list[tuple[Setting, ...]]:
    """One finding for each setting, where it is about settings one by one; any other rule has one, about all of its settings."""
    return [(each,) for each in verdict.settings] if rule.one_by_one and verdict.settings else [verdict.settings]


def _client(read: Read) -> PatternSubject:
    """The identity that the file gives; a secret is no identity."""

    def value(key: str) -> str | None:
        for subject in read.subjects:
            placed = subject.placed(key)
            if placed and placed.value and not shown.is_secret(placed.name, placed.value, key):
                return placed.value
        return read.named.get(key) or None

    return PatternSubject(read.principal, value("group.id") or value("application.id"), value("client.id"), read.path)


def _said(read: Read, subject: Subject, rule: RuleTexts, verdict: Verdict, about: Sequence[Setting]) -> _Said:
    settings: list[FileSetting] = []
    region = None
    stand = [subject.placed(judged.key) for judged in about]
    for judged, placed in zip(about, stand, strict=True):
        secret = rule.is_leak or judged.redacted is not None
        secret = secret or (placed is not None and shown.is_secret(placed.name, placed.value or "", judged.key))
        setting = _setting(judged, placed, secret)
        if placed and region is None and not placed.is_default:
            # A setting in the file can be changed there, so the finding is mainly about it; defaults come after it.
            region = placed.region
            settings.insert(0, setting)
        else:
            settings.append(setting)
    if region is None and read.instance:
        region = next((placed.region for placed in stand if placed), Region(read.instance.line, 1, read.instance.line, 1))
    severity, message = severity_of(verdict, about), verdict.message
    if rule.is_leak and stand and all(placed is not None and credentials.is_sample(placed.value or "") for placed in stand):
        severity, message = "info", shown.SAMPLE
    return severity, message, region, settings


def _setting(judged: Setting, placed: Placed | None, secret: bool) -> FileSetting:
    name, note = shown.key(placed.name, placed.bare) if placed else shown.key(judged.key), judged.note
    if secret:
        raw = placed.value if placed and placed.value is not None else ""
        value: str | None = shown.redacted(raw, judged.redacted.reason if judged.redacted else "sensitive")
    else:
        text = placed.value if placed else judged.value
        value = None if text is None else shown.plain(text)
        if text and judged.value and text.lower() != judged.value.lower():
            note = note or f"in effect: {shown.plain(judged.value)}"
    origin: SettingOrigin = "set" if placed and not placed.is_default else "default"
    return FileSetting(name, value, origin, note=note, line=placed.line if placed else None)
