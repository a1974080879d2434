"""Writes docs/rules.md from the rules themselves: ``python docs/make/rules.py``; a test compares."""

from __future__ import annotations

from pathlib import Path

from clientscope.commands.rules.explaining import client_types, needs, risks
from clientscope.risks import ABOUT
from udfs.rules.engine.rule import NOT_APPLICABLE, OUTCOMES, Case, Rule
from udfs.rules.registry import EVERY_RULE

PAGE = Path(__file__).resolve().parents[1] / "rules.md"

_HEAD = """\
# Rules

<!-- Made by `make docs-rules` from the rules themselves (udfs/rules/); a test compares. -->

What clientscope says about a client's settings. Each rule has three outcomes: it fired, it passed, or it could not be judged (shown
as `–`), since what it needs was not pushed. A rule that is for other clients says nothing. Rules judge the effective value: under Kafka's
name and in its spelling, with the default of the client library's release where a client leaves defaults out, and they say whether it was
set or is a default.

What a rule needs:

- **default keys**: what each client pushes by itself (KIP-1324);
- **allowed keys**: also a key that is pushed only if the client's `config.push.allowed.keys` names it;
- **fleet**: other clients, or the same one earlier;
- **wire**: what the client was seen to do.

What a rule risks, where nothing is done:

{risks}

Thresholds are those of the profile `apache`; other profiles have their own. Codes LG… are [events in logs](lint.md#events).
"""


def markdown() -> str:
    """docs/rules.md."""
    rows = [
        f"| [{rule.code}](#{rule.code.lower()}) | {rule.severity} | {risks(rule)} | `{rule.name}` | {client_types(rule)} | {needs(rule)} |"
        for rule in EVERY_RULE
    ]
    table = "\n".join(["| code | worst severity | risks | bad pattern | of | needs |", "|---|---|---|---|---|---|", *rows])
    head = _HEAD.replace("{risks}", "\n".join(f"- **{risk}**: {about};" for risk, about in ABOUT.items()).removesuffix(";") + ".")
    return "\n".join([head, table, "", *map(_section, EVERY_RULE)])


def _section(rule: Rule) -> str:
    facts = [
        f"Severity: {rule.severity}",
        f"risks: {', '.join(rule.risks)}",
        f"of: {client_types(rule)}",
        f"needs: {needs(rule)}",
        f"since: {rule.since}",
    ]
    if rule.dialects is not None:
        facts.append(f"libraries: {', '.join(sorted(rule.dialects))}")
    if rule.keys:
        facts.append("keys: " + ", ".join(f"`{key}`" for key in rule.keys))
    if rule.limits:
        facts.append("thresholds: " + ", ".join(f"`{name}` = {value:.8g}" for name, value in rule.limits.items()))
    return "\n".join(
        [
            f'<a id="{rule.code.lower()}"></a>', "", f"## {rule.code} {rule.name}", "",
            rule.title[:1].upper() + rule.title[1:], "",
            "; ".join(facts) + ".", "",
            f"**What.** {_prose(rule.what)}", "", f"**Why.** {_prose(rule.why)}", "",
            f"**Example.** {_prose(rule.example)}", "", f"**Use instead.** {_prose(rule.use_instead)}", "",
            *_cases(rule), "**Source.**", "", *(f"- {source}" for source in rule.sources), "",
        ]
    )  # fmt: skip


def _cases(rule: Rule) -> list[str]:
    rows = [f"| {_outcome(case, rule)} | {_client(case)} | {_settings(case)} |" for case in rule.cases]
    return ["| says | of | that has |", "|---|---|---|", *rows, ""] if rows else []


def _outcome(case: Case, rule: Rule) -> str:
    if case.outcome == NOT_APPLICABLE:
        return "nothing"
    said = OUTCOMES[case.outcome].replace("_", " ")
    return f"{said} ({case.severity or rule.severity})" if said == "fired" else said


def _client(case: Case) -> str:
    client = "no client.id" if case.client_id is None else f"client.id {case.client_id}"
    return f"{case.software} {case.version}" + ("" if case.client_id == "orders-1" else f", {client}")


def _settings(case: Case) -> str:
    found = [_setting(key, value) for key, value in case.settings.items()]
    found += [f"{_setting(key, value)} (default)" for key, value in case.defaults.items()]
    return ", ".join(found) + (", and nothing else set" if case.complete else "") if found else "nothing"


def _setting(key: str, value: str | None) -> str:
    return f"`{key}` (redacted)" if value is None else f"`{key}={value}`"


def _prose(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


if __name__ == "__main__":
    PAGE.write_text(markdown(), encoding="utf-8")
