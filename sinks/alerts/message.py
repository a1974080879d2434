"""Text of a message, in this order: status and severity, one sentence, who, since and last seen, count, what to do, links, commands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from urllib.parse import quote, urlencode

from clientscope.findings.record import Finding, FindingOwner
from clientscope.findings.wording import unmarked
from clientscope.readiness.observed import UNKNOWN_SOFTWARE
from clientscope.severities import SEVERITIES
from sinks.alerts.inert import fitted, inert
from sinks.alerts.progress import DeliveryPlan
from sinks.alerts.times import moment

MOST_BODY = 3_000
"""Slack's limit of a section's text, in characters once escaped."""

MOST_TITLE = 150
"""Slack's limit of a header."""

_NAMED = 5
"""Findings of a group, and addresses of a finding, that are named; the others are counted."""

_ACCEPTED_MS = 90 * 24 * 60 * 60 * 1000
"""How long the command of a message accepts a finding; a person may write another day."""

_LINK = re.compile(r"https://[A-Za-z0-9.-]+(?:/[\w./#?=%+:-]*)?", re.ASCII)


@dataclass(frozen=True)
class Message:
    """One message to one receiver.

    Attributes:
        findings: what to fix first, first; as they were when the message was planned, or after a restart as they are.
        damped: those that come and go, so that further changes are held back.
    """

    plan: DeliveryPlan
    findings: tuple[Finding, ...]
    damped: frozenset[str] = frozenset()

    @property
    def worst(self) -> Finding:
        """What the message is about, or begins with."""
        return self.findings[0]


@dataclass(frozen=True)
class Texts:
    """How texts are made.

    Attributes:
        external_url: the page's; empty if it isn't set.
        zone: of times.
    """

    external_url: str = ""
    zone: tzinfo = UTC

    def title(self, message: Message) -> str:
        """One line above the body, which says whose it is."""
        return self._title(message, "")

    def subject(self, message: Message) -> str:
        """One line without a body, as in the list of dead letters: it says whose it is."""
        return self._title(message, f", {_whose(message.worst)}")

    def _title(self, message: Message, who: str) -> str:
        finding, more = message.worst, len(message.findings) - 1
        text = f"{status(message).upper()}, {finding.severity}: {inert(finding.code, 16)} {inert(finding.name, 60)}{who}"
        return _cut(text, MOST_TITLE - 12) + (f" +{more:,}" if more else "")

    def body(self, message: Message, most: int = MOST_BODY) -> str:
        """Lines, at most ``most`` characters once ``&``, ``<`` and ``>`` are escaped."""
        findings, worst = message.findings, message.worst
        several = len(findings) > 1
        first = f"{status(message).upper()}, {worst.severity}"
        if worst.alert and worst.alert.why != "new" and message.plan.status == "firing":
            first += f" ({worst.alert.why})"
        lines = [first + (f": {len(findings):,} findings of {_codes(findings)}" if several else "")]
        lines.append(inert(unmarked(worst.sentence or worst.message), 600))  # the sentence doesn't say whose it is: that has a line
        if worst.sentence and worst.settings:
            lines.append(f"Settings: {', '.join(_some([inert(setting.key, 80) for setting in worst.settings], 3))}")
        lines += [f"Who: {_who(finding)}" for finding in findings[:_NAMED]]
        if len(findings) > _NAMED:
            lines.append(f"+{len(findings) - _NAMED:,} more")
        owners = list(dict.fromkeys(_owner(finding.owner) for finding in findings if finding.owner))
        lines += [f"Owner: {named}" for named in _some(owners, _NAMED)]
        since = min(finding.first_seen_ms for finding in findings)
        seen = max(finding.last_seen_ms for finding in findings)
        lines.append(f"Since {self.time(since)}, last seen {self.time(seen)}")
        if worst.kind != "operation":  # its sentence says what to do, and no client has it
            lines.append(f"Clients that have it now: {sum(finding.client_count for finding in findings):,}")
            lines.append(f"What to do: {self._advice(message)}")
        if any(finding.fingerprint in message.damped for finding in findings):
            lines.append("It flaps: further changes are sent once it has been stable for a while.")
        page = self._page_of(message)
        lines += [f"Page: {page}"] * bool(page) + [f"Rule: {link(worst)}"] * bool(link(worst))
        return fitted([*lines, "Commands:", *_commands(message)], most)

    def time(self, ms: int) -> str:
        """To the second, with its zone."""
        return moment(ms).astimezone(self.zone).strftime("%Y-%m-%d %H:%M:%S %Z")

    def page(self, finding: Finding) -> str:
        """The finding's address on the page; empty if the page's address isn't set."""
        return self._page(view="finding", id=finding.fingerprint)

    def _page_of(self, message: Message) -> str:
        worst = message.worst
        return self._page(view="findings", q=f"code:{worst.code}") if len(message.findings) > 1 else self.page(worst)

    def _page(self, **query: str) -> str:
        if not self.external_url:
            return ""
        return f"{self.external_url.rstrip('/')}/?{urlencode(query, quote_via=quote)}"

    def _advice(self, message: Message) -> str:
        if message.plan.status == "ended":
            return "nothing more"
        if message.worst.state == "stopped":
            return "it is no longer pushed, but who saw the secret still has it: rotate it, then close the finding"
        return inert(unmarked(message.worst.use_instead), 400) or "see the rule"


def status(message: Message) -> str:
    """In a word: ``open``, ``stopped``, ``resolved``, ``closed`` or ``suppressed``."""
    worst = message.worst
    if message.plan.status == "firing":
        return "stopped" if worst.state == "stopped" else "open"
    if worst.suppressed is not None:
        return "suppressed"
    return "closed" if worst.state == "closed" else "resolved"


def ordered(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The worst first, whatever their state is now."""
    return tuple(
        sorted(findings, key=lambda each: (-SEVERITIES.index(each.severity), -each.client_count, each.first_seen_ms, each.fingerprint))
    )


def link(finding: Finding) -> str:
    """Where a person reads on about the rule; empty unless it is plainly a page."""
    return finding.link if _LINK.fullmatch(finding.link) else ""


def _who(finding: Finding) -> str:
    """Application, principal, software, addresses; of our own operation, which part of it."""
    parts = [_whose(finding)]
    if finding.application.principal:
        parts.append(f"principal {inert(finding.application.principal, 80)}")
    known = [client for client in finding.clients if client.software_name != UNKNOWN_SOFTWARE]
    software = sorted({f"{inert(client.software_name, 40)} {inert(client.software_version, 30)}".strip() for client in known})
    parts += _some([each for each in software if each], 2)
    parts += _some(sorted({inert(client.address, 45) for client in finding.clients if client.address}), _NAMED, finding.client_count)
    return ", ".join(part for part in parts if part)


def _whose(finding: Finding) -> str:
    of = finding.application
    name = inert(of.client_id or of.group or of.principal or "", 80) or inert(finding.subject, 200)
    return name or ("clientscope" if finding.kind == "operation" else "no application")


def _owner(owner: FindingOwner) -> str:
    return f"{inert(owner.team, 80)} ({inert(owner.contact, 80)})"


def _some(texts: list[str], most: int, of: int = 0) -> list[str]:
    """The first few, and how many more there are."""
    more = max(len(texts), of) - min(most, len(texts))
    named = texts[:most]
    return [" ".join([", ".join(named), f"+{more:,}"]) if more > 0 and named else ", ".join(named)] if named else []


def _codes(findings: Sequence[Finding]) -> str:
    codes = sorted({finding.code for finding in findings})
    return ", ".join(inert(code, 16) for code in codes[:_NAMED]) + (" …" if len(codes) > _NAMED else "")


def _commands(message: Message) -> list[str]:
    """What a person may paste into a terminal, each a line of its own with nothing around it."""
    worst = message.worst
    several = len(message.findings) > 1
    shown = f"findings list --code {_word(worst.code)}" if several else f"findings show {_word(worst.fingerprint[:12])}"
    until = moment(message.plan.created_ms + _ACCEPTED_MS).date()
    close = f"findings close {_word(worst.fingerprint[:12])} --as accepted --until {until} --why 'known, until then'"
    rule = [] if worst.kind == "operation" else [f"rules {_word(worst.code)}"]
    return [f"clientscope {each}" for each in (shown, *rule, *([] if message.plan.status == "ended" else [close]))]


def _word(text: str) -> str:
    """Text for a command that a person may paste: letters, digits and - alone."""
    return re.sub(r"[^A-Za-z0-9-]", "", text)[:64]


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
