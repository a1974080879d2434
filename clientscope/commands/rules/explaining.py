"""Implementation of ``clientscope rules``: lists the rules, or explains one."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from rich.table import Table

from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects import DIALECTS
from clientscope.commands.rules import RulesSettings
from clientscope.commands.sources import columns, wrapped
from clientscope.errors import SettingsError
from clientscope.query import RULES, matches
from clientscope.report.api import parsed
from clientscope.report.listing import Listed, is_narrow, show
from clientscope.report.text import plain, table
from udfs.rules.engine.rule import OUTCOMES, Rule
from udfs.rules.registry import EVERY_RULE

FIELDS = ("code", "severity", "risks", "name", "title", "client_types", "dialects", "needs", "keys", "since")
"""Fields of a rule, as JSON has them."""


def needs(rule: Rule) -> str:
    """What must be known to judge; of SK rules nothing beyond the push."""
    return "any push" if rule.code.startswith("SK") else rule.needs.value


def client_types(rule: Rule) -> str:
    """Whose rule it is, in words."""
    if rule.client_types == frozenset(ClientType):
        return "any client"
    return ", ".join(each.value for each in ClientType if each in rule.client_types)


def risks(rule: Rule) -> str:
    """What it risks, in words."""
    return ", ".join(rule.risks)


def messages(rule: Rule) -> list[str]:
    """What it says with each outcome, by its own thresholds."""
    return [rule.message(outcome) for outcome in range(len(OUTCOMES))]


def as_json(rule: Rule) -> dict[str, Any]:
    """A rule in JSON; ``messages`` are by outcome."""
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "risks": list(rule.risks),
        "title": rule.title,
        "client_types": [each.value for each in ClientType if each in rule.client_types],
        "dialects": None if rule.dialects is None else sorted(rule.dialects),
        "needs": needs(rule),
        "keys": list(rule.keys),
        "limits": dict(rule.limits),
        "since": rule.since,
        "messages": dict(zip(OUTCOMES, messages(rule), strict=True)),
        "what": _one_line(rule.what),
        "why": _one_line(rule.why),
        "example": _one_line(rule.example),
        "use_instead": _one_line(rule.use_instead),
        "sources": rule.links,
    }


def _one_line(text: str) -> str:
    return " ".join(text.replace("``", "").split())


_LIBRARIES = tuple(dialect.name for dialect in DIALECTS)
_WORD = re.compile(r'[^\s:"()*-][^\s:"()*]*')
"""What may be a rule's code or name: a term without a field."""


def run(settings: RulesSettings) -> int:
    """Prints all rules, those that a search finds, or the one of a code or name; returns the exit status.

    Raises:
        SettingsError: there is no such rule, or the search is invalid.
    """
    if settings.watch:
        raise SettingsError("--watch is not for rules", "they change with a release of clientscope alone")
    one = settings.search[0] if len(settings.search) == 1 and _WORD.fullmatch(settings.search[0]) else None
    named = _named(one) if one else None
    if named and settings.output == "json":
        print(json.dumps(as_json(named), ensure_ascii=False, indent=2))
    elif named and settings.output == "table":
        _explain(named)
    else:
        _list(settings, (named,) if named else _found(settings.search, one))
    return 0


def find(code: str) -> Rule:
    """The rule of this code or name, in any case.

    Raises:
        SettingsError: there is no such rule; names the nearest ones.
    """
    rule = _named(code)
    if rule is not None:
        return rule
    by_word, wanted = _by_word(), _word(code)
    alike = get_close_matches(wanted, by_word, n=12, cutoff=0.5)
    # Codes differ by a digit, so the same digit at the same position counts.
    alike.sort(key=lambda word: -sum(left == right for left, right in zip(word, wanted, strict=False)))
    near = list(dict.fromkeys(by_word[word].code for word in alike))[:3]
    hint = f"did you mean {' or '.join(near)}?" if near else "list all rules: clientscope rules"
    raise SettingsError(f"unknown rule {code!r}", hint)


def _named(code: str) -> Rule | None:
    return _by_word().get(_word(code))


def _by_word() -> dict[str, Rule]:
    return {word: rule for rule in EVERY_RULE for word in (rule.code.lower(), rule.name)}


def _word(code: str) -> str:
    return code.strip().lower().replace("-", "_")


def _found(terms: Sequence[str], one: str | None) -> Sequence[Rule]:
    """The rules that a search finds; a word alone that is in none of them was meant as a code or name."""
    query = parsed(terms, RULES, 0)
    found = tuple(rule for rule in EVERY_RULE if matches(query, RULES, _values(rule), _text(rule)))
    return found or (find(one),) if one else found


def _values(rule: Rule) -> dict[str, object]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "risk": rule.risks,
        "type": tuple(sorted(each.value for each in rule.client_types)),
        "library": tuple(sorted(rule.dialects or _LIBRARIES)),
        "needs": needs(rule),
        "key": rule.keys,
    }


def _text(rule: Rule) -> str:
    """What words are searched for in."""
    return "\n".join((rule.code, rule.name, rule.title, rule.what, rule.why, rule.use_instead, *rule.keys)).lower()


def _list(settings: RulesSettings, rules: Sequence[Rule]) -> None:
    def listed() -> Listed[Rule]:
        return Listed(
            rules,
            row=as_json,
            name=lambda rule: rule.code,
            table=_table,
            left_out=() if rules else ("no rule matches",),
        )

    show(settings, FIELDS, listed)


def _table(rules: Sequence[Rule], wide: bool) -> Table | None:
    if not rules:
        return None
    headings = ("CODE", "SEVERITY", "RISKS", "NAME", "OF", "NEEDS", "KEYS", "TITLE")
    shown = len(headings) if wide else 4 if is_narrow() else len(headings) - 1
    view = table(headings[:shown], folds=("RISKS", "OF", "NEEDS", "KEYS", "TITLE"))
    for rule in rules:
        cells = [rule.code, rule.severity, ", ".join(rule.risks), rule.name, client_types(rule), needs(rule), ", ".join(rule.keys)]
        view.add_row(*map(plain, [*cells, rule.title][:shown]))
    return view


def _explain(rule: Rule) -> None:
    document = as_json(rule)
    print(*wrapped(f"{rule.code} {rule.name}: {document['title']}", columns()), sep="\n")
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
        "keys": ", ".join(rule.keys),
        "thresholds": ", ".join(f"{name}={value:.8g}" for name, value in rule.limits.items()),
        "since": rule.since,
    }
    _section("Facts", *(f"{name}: {fact}" for name, fact in facts.items() if fact))
    _section("Source", *rule.sources)


def _section(heading: str, *paragraphs: str) -> None:
    print(f"\n{heading}")
    for paragraph in paragraphs:
        print(*wrapped(f"  {paragraph}", columns()), sep="\n")
