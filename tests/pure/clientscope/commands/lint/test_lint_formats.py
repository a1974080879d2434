"""The formats of ``clientscope lint``, each to the letter, on made verdicts: rules may change, these texts may not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_runs import Run
from every import every
from golden import is_golden
from places import TESTS

from clientscope import __version__
from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects import dialect
from clientscope.commands.lint import findings, formats, places
from clientscope.commands.lint.findings import FileFinding, FileReport, LintReport
from clientscope.commands.lint.judging import RuleTexts, Subject
from clientscope.model.finding import Owner
from clientscope.model.result import Outcome, Verdict
from clientscope.model.setting import Reason, Redaction, Setting
from clientscope.profiles.client_patterns import ClientPattern, FilePattern
from clientscope.profiles.owners import Owners
from clientscope.profiles.suppressions import Suppression

FILE = """\
# orders
client.id=orders-7f9c5b6d8-x2x4z
batch.size = 100
acks: 0
sasl.jaas.config=PlainLoginModule required username="u" password="hunter2";
"""
TODAY = date(2026, 11, 22)
ZERO = RuleTexts(
    "AN101",
    "acks_zero",
    "high",
    ("acks",),
    {"What": "``acks`` is 0.", "Why": "Records get lost.", "Use instead": "``acks=all``.", "Source": "KIP-679"},
    "https://example.org/a?b=c",
)
SMALL = RuleTexts(
    "AN110",
    "batch_small",
    "medium",
    ("batch.size", "linger.ms"),
    {"What": "Too small.", "Use instead": "A larger one."},
    "https://kafka.apache.org/documentation/#producerconfigs_batch.size",
)
LEAK = RuleTexts(
    "SK001",
    "credential",
    "critical",
    (),
    {"What": "A credential.", "Use instead": "None."},
    "https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324",
)
RULES = {rule.code: rule for rule in (ZERO, SMALL, LEAK)}
SCHEMA = json.loads((TESTS / "data" / "sarif-schema-2.1.0.json").read_text())


def fired(rule: RuleTexts, message: str, *settings: tuple[str, str | None], reason: Reason | None = None) -> Verdict:
    """A verdict about settings."""
    judged = tuple(Setting(key, redacted=Redaction(reason, 0)) if reason else Setting(key, value) for key, value in settings)
    return Verdict(rule.code, rule.name, rule.severity, message, judged)


def quiet(rule: RuleTexts, outcome: Outcome) -> Verdict:
    """A verdict that finds nothing."""
    return Verdict(rule.code, rule.name, rule.severity, "nothing", outcome=outcome)


def reported(
    path: str,
    text: str,
    *verdicts: Verdict,
    suppressions: Sequence[Suppression] = (),
    owners: Owners | None = None,
    notes: Sequence[tuple[int, str]] = (),
) -> findings.FileReport:
    """What these verdicts come to for a properties file with this text, of a Java producer."""
    settings = {each.name: each for each in places.read(path, text.encode(), "properties")}
    subject = Subject(settings, dialect("java"), "unknown", ClientType.PRODUCER)
    read = findings.Read(path, (subject,), tuple(notes))
    decisions = findings.Decisions(tuple(suppressions), owners or Owners(), TODAY)
    return findings.report(read, [verdicts], RULES, decisions)


def report() -> LintReport:
    until = Suppression("SK001", FilePattern(path=("test/*",)), "made up", date(2026, 12, 31), "rules.toml:3")
    jaas = ("sasl.jaas.config", 'PlainLoginModule required username="u" password="hunter2";')
    return LintReport(
        (
            reported(
                "conf/orders.properties",
                FILE,
                fired(LEAK, "A credential stands here: take it out.", jaas, reason="key_prefix"),
                fired(ZERO, "Nothing is acknowledged: set acks=all.", ("acks", "0")),
                fired(SMALL, "Batches are small.", ("batch.size", "100"), ("linger.ms", "5")),
                owners=Owners(((ClientPattern(client_id=("orders-*",)), Owner("orders", "#orders")),)),
                notes=((2, "client.id is there again in line 9, which counts"),),
            ),
            reported(
                "test/x.properties",
                FILE,
                fired(LEAK, "A credential stands here: take it out.", jaas, reason="key_prefix"),
                quiet(ZERO, "passed"),
                quiet(SMALL, "not_evaluable"),
                suppressions=(until,),
            ),
            FileReport("log4j.properties", skipped="no setting of a Kafka client (java) in it"),
        ),
        ("conf/broken.json is not JSON: line 1, column 2: Expecting value",),
        (Suppression("AN101", ClientPattern(group=("a",)), "old", date(2026, 1, 1), "rules.toml:9"),),
    )


FULL = """\
AN110 medium: Batches are small.
  --> conf/orders.properties:3:14
   |
 3 | batch.size = 100
   |              ^^^
   = with linger.ms = 5 by default
   = use instead: A larger one.
   = see: https://kafka.apache.org/documentation/#producerconfigs_batch.size
   = owner: orders (#orders)

AN101 high: Nothing is acknowledged: set acks=all.
  --> conf/orders.properties:4:7
   |
 4 | acks = 0
   |        ^
   = why: Records get lost.
   = use instead: `acks=all`.
   = see: https://example.org/a?b=c
   = owner: orders (#orders)

SK001 critical: A credential stands here: take it out.
  --> conf/orders.properties:5:18
   |
 5 | sasl.jaas.config = ‹redacted, 58 bytes, jaas›
   |                    ^^^^^^^^^^^^^^^^^^^^^^^^^^
   = use instead: None.
   = see: https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
   = owner: orders (#orders)

note: conf/orders.properties:2: client.id is there again in line 9, which counts
conf/orders.properties (producer): 3 findings, 0 checks passed, – 0 could not be judged
note: test/x.properties:5: SK001 is suppressed until 2026-12-31 by rules.toml:3: made up
test/x.properties (producer): 0 findings, 1 check passed, – 1 could not be judged
– log4j.properties: not judged: no setting of a Kafka client (java) in it
note: rules.toml:9: the suppression of AN101 ended on 2026-01-01 and counts no longer
3 findings in 2 files (1 critical, 1 high, 1 medium); 1 suppressed; 1 check passed; – 1 could not be judged; 1 file skipped; 1 file not read
"""

CONCISE = """\
conf/orders.properties:3:14: AN110 medium Batches are small. [batch.size = 100, linger.ms = 5 by default]
conf/orders.properties:4:7: AN101 high Nothing is acknowledged: set acks=all. [acks = 0]
conf/orders.properties:5:18: SK001 critical A credential stands here: take it out. [sasl.jaas.config = ‹redacted, 58 bytes, jaas›]
– log4j.properties: not judged: no setting of a Kafka client (java) in it
3 findings in 2 files (1 critical, 1 high, 1 medium); 1 suppressed; 1 check passed; – 1 could not be judged; 1 file skipped; 1 file not read
"""

STATISTICS = """\
CODE   FINDINGS SUPPRESSED PASSED      –  SEVERITY
AN101         1          0      1      0  high
AN110         1          0      0      1  medium
SK001         1          1      0      0  critical
–: could not be judged by the file alone, so neither clean nor wrong
"""

GITHUB = """\
::error title=clientscope lint::conf/broken.json is not JSON: line 1, column 2: Expecting value
::error file=conf/orders.properties,line=5,endLine=5,col=18,endColumn=76,title=SK001 credential (critical)::\
A credential stands here: take it out. [sasl.jaas.config = ‹redacted, 58 bytes, jaas›]
::error file=conf/orders.properties,line=4,endLine=4,col=7,endColumn=8,title=AN101 acks_zero (high)::\
Nothing is acknowledged: set acks=all. [acks = 0]
::warning file=conf/orders.properties,line=3,endLine=3,col=14,endColumn=17,title=AN110 batch_small (medium)::\
Batches are small. [batch.size = 100, linger.ms = 5 by default]
::stop-commands::t0ken
"""


def joined(lines: Any) -> str:
    return "".join(f"{line}\n" for line in lines)


def test_texts() -> None:
    assert joined(formats.full(report(), colour=False)) == FULL
    assert joined(formats.concise(report(), colour=False)) == CONCISE
    assert joined(formats.statistics(report())) == STATISTICS
    expected = GITHUB + FULL + "::t0ken::\nclientscope lint: 4 annotations, all shown\n"
    assert joined(formats.github_lines(report(), "t0ken")) == expected


def test_colours_are_round_the_code_and_the_caret_alone() -> None:
    coloured = joined(formats.full(report(), colour=True))
    assert "\x1b[31mAN101 high\x1b[0m: Nothing" in coloured
    assert " | \x1b[31m       ^\x1b[0m" in coloured
    for code in ("\x1b[1;31m", "\x1b[31m", "\x1b[33m", "\x1b[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == FULL


@pytest.mark.parametrize(
    ("environ", "terminal", "colours"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colours_on_a_terminal(monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], terminal: bool, colours: bool) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    assert formats.coloured(environ) is colours


def test_json() -> None:
    assert is_golden(formats.json_document(report()), __file__, "report.json")


def validated(made: LintReport) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(formats.sarif_document(made))
    jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER).validate(document)
    (run,) = document["runs"]
    return dict(run)


def test_sarif() -> None:
    assert "snippet" not in json.dumps(validated(report()))
    assert is_golden(formats.sarif_document(report()).replace(f'"{__version__}"', '"of this release"'), __file__, "report.sarif")
    assert validated(LintReport((), ()))["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_sarif_of_odd_paths_and_of_what_is_not_in_the_file() -> None:
    made = LintReport(
        (
            reported("a b/ü:%\udcff.properties", "acks=0\n", fired(ZERO, "m", ("acks", "0"))),
            reported("/elsewhere/x.properties", "acks=0\n", fired(SMALL, "m", ("batch.size", "1"))),
        )
    )
    odd, default = validated(made)["results"]
    assert odd["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b/%C3%BC%3A%25%FF.properties"
    place = default["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "file:///elsewhere/x.properties"}, "region": {"startLine": 1}}
    assert "batch.size = 1 by default" in default["message"]["text"]


def many(count: int) -> LintReport:
    def finding(number: int) -> FileFinding:
        return reported(f"f{number}", "acks=10\n", fired((SMALL, ZERO, LEAK)[number % 3], f"m{number}", ("acks", "10"))).findings[0]

    return LintReport(tuple(FileReport(f"f{number}", findings=(finding(number),)) for number in range(count)))


def test_github_shows_the_worst_first_and_counts_the_rest() -> None:
    lines = list(formats.github_lines(many(60), "t"))
    annotations = lines[: lines.index("::stop-commands::t")]
    assert Counter(line.split(" ", 1)[0] for line in annotations) == {"::error": 10, "::warning": 10}
    assert all("SK001" in line for line in every(annotations[:10]))
    assert lines[-1] == "clientscope lint: GitHub shows 10 annotations of each kind: 30 more errors, 10 more warnings in the log above"
    assert sum(line.startswith("  --> f") for line in lines) == 60, "the log has all"


def test_a_fingerprint_is_of_the_application_and_not_of_the_instance() -> None:
    def fingerprint(text: str, path: str = "a.properties") -> str:
        return reported(path, text, fired(ZERO, "m", ("acks", "0"))).findings[0].fingerprint

    one = fingerprint("acks=0\nclient.id=orders-1\n")
    assert one == fingerprint("client.id=orders-2\nlinger.ms=5\nacks=0\n", "b.properties")
    assert one != fingerprint("acks=0\nclient.id=payments-1\n")
    assert one != fingerprint("acks=0\nclient.id=orders-1\ngroup.id=g\n")
    assert fingerprint("acks=0\n") != fingerprint("acks=0\n", "b.properties")
    assert one == "416507e7e7cd91b38c9cd0fe003c7bd7", "it must not change: people's decisions hang on it"
    secrets = {fingerprint(f"acks=0\nclient.id=password=hunter{number}\n") for number in (2, 3)}
    assert len(secrets) == 1, "a secret is no identity"


def test_a_finding_is_about_a_setting_of_the_file() -> None:
    made = reported("a.properties", "linger.ms=0\n", fired(SMALL, "m", ("batch.size", "1"), ("linger.ms", "0"))).findings[0]
    assert [(setting.key, setting.origin, setting.line) for setting in made.settings] == [
        ("linger.ms", "set", 1),
        ("batch.size", "default", None),
    ]
    assert (made.line, made.column) == (1, 11)


def test_a_rule_that_shows_a_secret_is_not_trusted() -> None:
    text = "sasl.jaas.config=x password=hunter2\nacks=0 password=hunter2\n"
    for key in ("sasl.jaas.config", "acks"):
        value = "x password=hunter2" if key.startswith("sasl") else "0 password=hunter2"
        (made,) = reported("a.properties", text, fired(ZERO, "m", (key, value))).findings
        assert "hunter2" not in repr(made)
        assert "redacted" in (made.settings[0].value or "")


@pytest.mark.parametrize("columns", ["80", "120", None])
def test_explanations_are_whole(columns: str | None, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    Path("a.properties").write_text("acks=1\npartition.assignment.strategy=range\ngroup.id=g\nbatch.size=10\nclient.id=a\n")
    printed = run("a.properties").out
    assert "and nobody decided it." in " ".join(printed.split())
    explained = [line for line in printed.splitlines() if line.startswith(("   = why", "   = use instead", "     "))]
    assert explained and not [line for line in explained if "…" in line]
    assert columns is None or max(map(len, explained)) <= int(columns)
