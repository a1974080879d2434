"""Verdicts of the rules on settings files; the only module here that knows the rules' internals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from clientscope.catalog.configs import TYPES, ClientType, Type
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.commands.lint.shown import LEFT, MESSAGES, OF_PUSHES_ALONE, SECTIONS
from clientscope.model.enums import Origin
from clientscope.model.push import Push
from clientscope.model.result import Verdict
from clientscope.model.setting import Setting
from clientscope.policy.redaction import ClientNames, judged_record, type_name
from clientscope.profiles import Profile, Thresholds, of_addresses
from udfs.rules.engine import rule as rules
from udfs.rules.engine.pushed_config import NOT_SEARCHED, PushedConfig
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, Judgement, Rule
from udfs.rules.registry import RULES


@dataclass(frozen=True)
class Subject:
    """One client's settings; if they are complete, a missing one has its default.

    Attributes:
        settings: names and values as written, but for a prefix.
        client_type: None if it can't be determined.
        version: the client library's; ``unknown`` is its newest.
        principal: the principal that the client authenticates as, for profiles; None if it wasn't given.
        prefixed: Kafka's names → those in the file, of settings under a prefix, which are never complete; None for a client's own file.
        software_name: KIP-511's name as the client sent it; empty for the dialect's.
        observed: the settings were seen, whoever set them, and others may be missing; so no default is filled in.
        loose: they are no client's, and are judged as credentials alone.
        brought: what the client has beside them, by whoever creates it; an empty text is the library's default.
    """

    settings: Mapping[str, str]
    dialect: Dialect
    version: str
    client_type: ClientType | None
    principal: str | None = None
    prefixed: Mapping[str, str] | None = None
    software_name: str = ""
    observed: bool = False
    loose: bool = False
    brought: Mapping[str, str] = field(default_factory=dict)

    @property
    def service(self) -> Profile | None:
        """The profile of the service whose brokers' addresses are among the settings; None where they are nobody's."""
        kind = self.client_type or ClientType.ADMIN
        servers = (value for name, value in self.settings.items() if self.dialect.kafka_name(name, kind) == "bootstrap.servers")
        return of_addresses(",".join(servers))


@dataclass(frozen=True)
class RuleTexts:
    """A rule's texts for reports.

    Attributes:
        link: further reading: the first address of its source.
    """

    code: str
    name: str
    severity: str
    keys: tuple[str, ...]
    documentation: Mapping[str, str]
    link: str

    @property
    def is_leak(self) -> bool:
        """Whether it is about secrets."""
        return self.code.startswith("SK")

    @property
    def one_by_one(self) -> bool:
        """Whether each setting of a verdict is a finding of its own: a leak, or what the library doesn't take."""
        return self.is_leak or (self.code.startswith("CF") and self.code not in TOGETHER)


TOGETHER = frozenset({"CF104", "CF108"})
"""Rules about several settings that contradict each other."""

_UNKNOWN_NAME, _OF_SOFTWARE = "CF101", "AN307"


def severity_of(verdict: Verdict, about: Sequence[Setting]) -> str:
    """How bad a finding is: names that are near to none, and that the library ignores, are only for information."""
    if verdict.code != _UNKNOWN_NAME or not about or about[0].note not in (None, NOT_SEARCHED):
        return verdict.severity
    return "info" if verdict.severity == "medium" else verdict.severity


OF_ONE_CLIENT = "CF110"
"""The rule about other clients' settings: of a file that several clients share it says nothing."""

_NAMES = ClientNames()
_RULES = tuple(rule for rule in RULES if rule.code not in OF_PUSHES_ALONE)
_CREDENTIALS = tuple(rule for rule in _RULES if rule.code in ("SK001", "SK002"))


@cache
def catalogue() -> Mapping[str, RuleTexts]:
    """Every rule's code → its texts."""
    return {rule.code: RuleTexts(rule.code, rule.name, rule.severity, rule.keys, _documentation(rule), rule.links[0]) for rule in _RULES}


def judge(subject: Subject, thresholds: Thresholds, by_address: bool) -> list[Verdict]:
    """Every rule that applies, in the order of the rules, as if the file's client had pushed it, redacted.

    Args:
        by_address: a service's profile comes before the thresholds.
    """
    if by_address and (own := subject.service):
        thresholds = Thresholds((own,))
    judged = judged_record(_record(subject), _NAMES, LEFT)
    push = PushedConfig(judged, thresholds, complete=subject.prefixed is None, client_type=subject.client_type)
    return [_verdict(push, rule, judgement) for rule, judgement in rules.judge(push, _CREDENTIALS if subject.loose else _RULES)]


def _verdict(push: PushedConfig, rule: Rule, judgement: Judgement) -> Verdict:
    # If the settings are incomplete, a verdict that rests on none of them may change with settings elsewhere, unless it is about software.
    if judgement.outcome == FIRED and not judgement.settings and not push.complete and rule.code != _OF_SOFTWARE:
        judgement = Judgement(NOT_EVALUABLE)
    made = rules.verdict(push, rule, judgement)
    return replace(made, message=MESSAGES[rule.code]) if judgement.outcome == FIRED and rule.code in MESSAGES else made


def _record(subject: Subject) -> Push:
    kafka_names = {name: subject.dialect.kafka_name(name, subject.client_type or ClientType.ADMIN) for name in subject.settings}
    defaults = subject.dialect.defaults_of(subject.client_type, subject.version) if subject.brought and subject.client_type else {}
    left = {key: defaults[key] for key, text in subject.brought.items() if not text and key in defaults}
    brought = {key: text for key, text in subject.brought.items() if text}
    ids = [subject.settings[name] for name, kafka_name in kafka_names.items() if kafka_name == "client.id"]
    return Push(
        version=1,
        received_ms=0,
        cluster="",
        broker=0,
        gateway="",
        epoch=1,
        connection=0,
        listener="",
        security_protocol="PLAINTEXT",
        address="",
        principal=subject.principal,
        client_id=ids[-1] if ids else None,
        software_name=subject.software_name or subject.dialect.software[0],
        software_version=subject.version,
        origin=Origin.OBSERVED if subject.observed else Origin.PUSHED,
        settings={**left, **brought, **subject.settings},
        defaults=list(left),
        types={name: type_name(TYPES.get(kafka_name, Type.STRING)) for name, kafka_name in kafka_names.items()},
    )


def _documentation(rule: Rule) -> Mapping[str, str]:
    """Its sections, each as one line, as they hold for files."""
    texts = {"What": rule.what, "Why": rule.why, "Example": rule.example, "Use instead": rule.use_instead, "Source": " ".join(rule.sources)}
    return {name: " ".join(text.split()) for name, text in texts.items()} | (SECTIONS if rule.code in MESSAGES else {})
