"""Implementation of ``clientscope rules``: lists the rules, or explains one."""

from __future__ import annotations

import json
import textwrap
from difflib import get_close_matches

from clientscope.commands.rules.docs import as_json, client_types, messages, needs, risks, sources
from clientscope.errors import SettingsError
from udfs.rules.engine.rule import OUTCOMES, Rule
from udfs.rules.registry import EVERY_RULE

_WIDTH = 100


def run(code: str | None, output: str) -> int:
    """Prints all rules, or the one of this code or name; returns the exit status.

    Raises:
        SettingsError: there is no such rule.
    """
    rules = EVERY_RULE if code is None else (find(code),)
    if output == "json":
        documents = [as_json(rule) for rule in rules]
        print(json.dumps(documents if code is None else documents[0], ensure_ascii=False, indent=2))
    elif code is None:
        _table()
    else:
        _explain(rules[0])
    return 0


def find(code: str) -> Rule:
    """The rule of this code or name, in any case.

    Raises:
        SettingsError: there is no such rule; names the nearest ones.
    """
    wanted = code.strip().lower().replace("-", "_")
    by_word = {word: rule for rule in EVERY_RULE for word in (rule.code.lower(), rule.name)}
    if wanted in by_word:
        return by_word[wanted]
    alike = get_close_matches(wanted, by_word, n=12, cutoff=0.5)
    # Codes differ by a digit, so the same digit at the same position counts.
    alike.sort(key=lambda word: -sum(left == right for left, right in zip(word, wanted, strict=False)))
    near = list(dict.fromkeys(by_word[word].code for word in alike))[:3]
    hint = f"did you mean {' or '.join(near)}?" if near else "list all rules: clientscope rules"
    raise SettingsError(f"unknown rule {code!r}", hint)


def _table() -> None:
    rows = [("CODE", "SEVERITY", "RISKS", "NAME", "OF", "NEEDS", "KEYS")]
    rows += [
        (rule.code, rule.severity, ", ".join(rule.risks), rule.name, client_types(rule), needs(rule), ", ".join(rule.keys))
        for rule in EVERY_RULE
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _explain(rule: Rule) -> None:
    document = as_json(rule)
    print(f"{rule.code} {rule.name}: {document['title']}")
    _section("What", document["what"])
    _section("Why", document["why"])
    _section("Example", document["example"])
    _section("Use instead", document["use_instead"])
    _section("Says", *(f"{outcome.replace('_', ' ')}: {text}" for outcome, text in zip(OUTCOMES, messages(rule), strict=True) if text))
    facts = {
        "severity": rule.severity,
        "risks": risks(rule),
        "of": client_types(rule),
        "libraries": ", ".join(document["dialects"] or ["all"]),
        "needs": needs(rule),
    }
    facts["keys"] = ", ".join(rule.keys)
    facts["thresholds"] = ", ".join(f"{name}={value:g}" for name, value in rule.limits.items())
    facts["since"] = rule.since
    _section("Facts", *(f"{name}: {fact}" for name, fact in facts.items() if fact))
    _section("Source", *sources(rule.documentation.source))


def _section(heading: str, *paragraphs: str) -> None:
    print(f"\n{heading}")
    for paragraph in paragraphs:
        print(textwrap.fill(paragraph, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))
