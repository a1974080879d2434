"""Text of a message, in this order: status and severity, one sentence, who, since and last seen, count, what to do, links, commands."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from urllib.parse import quote, urlencode

from clientscope.findings.wording import unmarked
from clientscope.model.fields import clean
from clientscope.model.finding import Finding
from clientscope.readiness.observed import UNKNOWN_SOFTWARE
from clientscope.severities import SEVERITIES

MOST_BODY = 3_000
"""Slack's limit of a section's text, in characters."""

_NAMED = 5
"""Findings of a message, and addresses of a finding, that are named; the others are counted."""

_ACCEPTED_MS = 90 * 24 * 60 * 60 * 1000
"""How long the command of a message accepts a finding; a person may write another day."""

_LINK = re.compile(r"https://[A-Za-z0-9.-]+(?:/[\w./#?=%+:-]*)?", re.ASCII)
_LOOKALIKES = str.maketrans(
    {"<": "‹", ">": "›", "&": "＆", "@": "＠", "`": "ˋ", "*": "∗", "[": "［", "]": "］", "|": "¦", "{": "❴", "}": "❵", "$": "＄", "~": "∼"}
)

Status = Literal["firing", "ended"]


def inert(text: str | None, length: int = 256) -> str:
    """The text with what has a meaning in Slack, Markdown, HTML or Go templates replaced by what looks like it; one line."""
    cleaned = clean(text or "", length).translate(_LOOKALIKES)
    return cleaned.replace("://", ":∕∕").replace("www.", "www․").strip()


def moment(ms: int) -> datetime:
    """In UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def iso(ms: int) -> str:
    """To the millisecond, as RFC 3339 has it."""
    return moment(ms).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True)
class Message:
    """One message to one receiver.

    Attributes:
        id: the same for each attempt.
        findings: the worst first; as they were when the message was made.
    """

    id: str
    status: Status
    findings: tuple[Finding, ...]
    created_ms: int

    @classmethod
    def of(cls, receiver: str, status: Status, findings: Sequence[Finding], created_ms: int) -> Message:
        """A message about these; the same alerts of the same findings to the same receiver have the same id."""
        ordered = sorted(findings, key=lambda each: (-SEVERITIES.index(each.severity), -each.client_count, each.fingerprint))
        text = json.dumps([receiver, status, sorted((each.fingerprint, alert_number(each)) for each in findings)])
        return cls("msg_" + hashlib.sha256(text.encode()).hexdigest()[:32], status, tuple(ordered), created_ms)

    @property
    def worst(self) -> Finding:
        """What the message begins with."""
        return self.findings[0]

    @property
    def state(self) -> str:
        """``open``, ``stopped``, ``resolved``, ``closed`` or ``suppressed``."""
        if self.status == "firing":
            return self.worst.state
        if self.worst.suppressed is not None:
            return "suppressed"
        return "closed" if self.worst.state == "closed" else "resolved"


def alert_number(finding: Finding) -> int:
    """Which of its alerts it is about."""
    return finding.alert.number if finding.alert else 0


@dataclass(frozen=True)
class Texts:
    """How texts are made.

    Attributes:
        external_url: the page's; empty if it isn't set.
    """

    external_url: str = ""

    def title(self, message: Message) -> str:
        """One line above the body."""
        finding, more = message.worst, len(message.findings) - 1
        text = f"{message.state.upper()}, {finding.severity}: {inert(finding.code, 16)} {inert(finding.name, 60)}"
        return text + (f" +{more:,}" if more else "")

    def body(self, message: Message) -> str:
        """Lines, at most `MOST_BODY` characters: what is variable in them is bounded below."""
        findings, worst = message.findings, message.worst
        several = len(findings) > 1
        first = f"{message.state.upper()}, {worst.severity}"
        if worst.alert and worst.alert.why != "new" and message.status == "firing":
            first += f" ({worst.alert.why})"
        lines = [first + (f": {len(findings):,} findings of {_codes(findings)}" if several else "")]
        lines.append(inert(unmarked(worst.sentence or worst.message), 500))  # the sentence doesn't say whose it is: that has a line
        if worst.sentence and worst.settings:
            lines.append(f"Settings: {_some([inert(setting.key, 80) for setting in worst.settings], 3)}")
        lines += [f"Who: {_who(finding)[: 900 // min(len(findings), _NAMED)]}" for finding in findings[:_NAMED]]
        if len(findings) > _NAMED:
            lines.append(f"+{len(findings) - _NAMED:,} more")
        owner = worst.owner
        if owner is not None:
            lines.append(f"Owner: {inert(owner.team, 80)} ({inert(owner.contact, 80)})")
        since = min(finding.first_seen_ms for finding in findings)
        seen = max(finding.last_seen_ms for finding in findings)
        lines.append(f"Since {self.time(since)}, last seen {self.time(seen)}")
        if worst.kind != "operation":  # its sentence says what to do, and no client has it
            lines.append(f"Clients that have it now: {sum(finding.client_count for finding in findings):,}")
            lines.append(f"What to do: {_advice(message)}")
        page = self._page(view="findings", q=f"code:{worst.code}") if several else self.page(worst)
        lines += [f"Page: {page}"] * bool(page) + [f"Rule: {link(worst)}"] * bool(link(worst))
        return "\n".join([*lines, "Commands:", *_commands(message)])[:MOST_BODY]

    def time(self, ms: int) -> str:
        """To the second, with its zone."""
        return moment(ms).strftime("%Y-%m-%d %H:%M:%S UTC")

    def page(self, finding: Finding) -> str:
        """The finding's address on the page; empty if the page's address isn't set."""
        return self._page(view="finding", id=finding.fingerprint)

    def _page(self, **query: str) -> str:
        if not self.external_url:
            return ""
        return f"{self.external_url.rstrip('/')}/?{urlencode(query, quote_via=quote)}"


def link(finding: Finding) -> str:
    """Where a person reads on about the rule; empty unless it is plainly a page."""
    return finding.link if _LINK.fullmatch(finding.link) else ""


def _advice(message: Message) -> str:
    if message.status == "ended":
        return "nothing more"
    if message.worst.state == "stopped":
        return "it is no longer pushed, but who saw the secret still has it: rotate it, then close the finding"
    return inert(unmarked(message.worst.use_instead), 300) or "see the rule"


def _who(finding: Finding) -> str:
    """Application, principal, software, addresses; of our own operation, which part of it."""
    of = finding.application
    name = inert(of.client_id or of.group or of.principal or "", 80) or inert(finding.subject, 200)
    parts = [name or ("clientscope" if finding.kind == "operation" else "no application")]
    if of.principal:
        parts.append(f"principal {inert(of.principal, 80)}")
    known = [client for client in finding.clients if client.software_name != UNKNOWN_SOFTWARE]
    software = sorted({f"{inert(client.software_name, 40)} {inert(client.software_version, 30)}".strip() for client in known})
    parts.append(_some([each for each in software if each], 2))
    addresses = sorted({inert(client.address, 45) for client in finding.clients if client.address})
    parts.append(_some(addresses, _NAMED, finding.client_count))
    return ", ".join(part for part in parts if part)


def _some(texts: list[str], most: int, of: int = 0) -> str:
    """The first few, and how many more there are."""
    named, more = ", ".join(texts[:most]), max(len(texts), of) - min(most, len(texts))
    return f"{named} +{more:,}" if more > 0 and named else named


def _codes(findings: Sequence[Finding]) -> str:
    codes = sorted({finding.code for finding in findings})
    return ", ".join(inert(code, 16) for code in codes[:_NAMED]) + (" …" if len(codes) > _NAMED else "")


def _commands(message: Message) -> list[str]:
    """What a person may paste into a terminal, each a line of its own with nothing around it."""
    worst = message.worst
    several = len(message.findings) > 1
    shown = f"findings list code:{_word(worst.code)}" if several else f"findings show {_word(worst.fingerprint[:12])}"
    until = moment(message.created_ms + _ACCEPTED_MS).date()
    close = f"findings close {_word(worst.fingerprint[:12])} --as accepted --until {until} --why 'known, until then'"
    rule = [] if worst.kind == "operation" else [f"rules {_word(worst.code)}"]
    return [f"clientscope {each}" for each in (shown, *rule, *([] if message.status == "ended" else [close]))]


def _word(text: str) -> str:
    """Text for a command that a person may paste: letters, digits and - alone."""
    return re.sub(r"[^A-Za-z0-9-]", "", text)[:64]
