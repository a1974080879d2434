"""Verdicts of the rules on settings files; the only module here that knows the rules' internals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from clientscope.catalog.configs import TYPES, ClientType, Type
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.frameworks import FrameworkClient
from clientscope.commands.lint.placed import Placed
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
        places: the library's name → its place in the file, where the name has a framework's prefix, say.
        client_type: None if it can't be determined.
        version: the client library's; ``unknown`` is its newest.
        complete: nothing else was set. Settings under a prefix are never complete.
        software_name: KIP-511's name as the client sent it; empty for the dialect's.
        observed: the settings were seen, whoever set them, and others may be missing; so no default is filled in.
        loose: of a setting that is no client's, and is judged as a credential alone, a name of its own in the file; empty for a client.
        created: the framework that creates the client.
    """

    places: Mapping[str, Placed]
    dialect: Dialect
    version: str
    client_type: ClientType | None
    complete: bool = True
    software_name: str = ""
    observed: bool = False
    loose: str = ""
    created: FrameworkClient | None = None

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """The library's names → values as it takes them. Defaults that a client has logged are there only where others may be missing."""
        given = [(name, each) for name, each in self.places.items() if not (self.complete and each.is_default)]
        if self.created is None:
            return {name: each.value or "" for name, each in given}
        return {name: self.created.framework.value(each.name, name, each.value or "") for name, each in given}

    def placed(self, key: str) -> Placed | None:
        """The place of a setting, by the library's name or Kafka's; the last one counts."""
        names = [key] if key in self.places else [name for name in self.places if self.kafka_name(name) == key]
        return self.places[names[-1]] if names else None

    def kafka_name(self, name: str) -> str:
        """Kafka's name of a setting."""
        return self.dialect.kafka_name(name, self.client_type or ClientType.ADMIN)

    @property
    def service(self) -> Profile | None:
        """The profile of the service whose brokers' addresses are among the settings; None where they are nobody's."""
        return of_addresses(",".join(value for name, value in self.settings.items() if self.kafka_name(name) == "bootstrap.servers"))


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


def judge(subject: Subject, principal: str | None, thresholds: Thresholds, by_address: bool) -> list[Verdict]:
    """Every rule that applies, in the order of the rules, as if the file's client had pushed it, redacted.

    Args:
        principal: that the client authenticates as, for profiles; None if it wasn't given.
        by_address: a service's profile comes before the thresholds.
    """
    if by_address and (own := subject.service):
        thresholds = Thresholds((own,))
    judged = judged_record(_record(subject, principal), _NAMES, LEFT)
    push = PushedConfig(judged, thresholds, complete=subject.complete, client_type=subject.client_type)
    return [_verdict(push, rule, judgement) for rule, judgement in rules.judge(push, _CREDENTIALS if subject.loose else _RULES)]


def _verdict(push: PushedConfig, rule: Rule, judgement: Judgement) -> Verdict:
    # If the settings are incomplete, a verdict that rests on none of them may change with settings elsewhere, unless it is about software.
    if judgement.outcome == FIRED and not judgement.settings and not push.complete and rule.code != _OF_SOFTWARE:
        judgement = Judgement(NOT_EVALUABLE)
    made = rules.verdict(push, rule, judgement)
    return replace(made, message=MESSAGES[rule.code]) if judgement.outcome == FIRED and rule.code in MESSAGES else made


def _record(subject: Subject, principal: str | None) -> Push:
    kafka_names = {name: subject.kafka_name(name) for name in subject.settings}
    brought = subject.created.brought if subject.created else {}
    defaults = subject.dialect.defaults_of(subject.client_type, subject.version) if brought and subject.client_type else {}
    left = {key: defaults[key] for key, text in brought.items() if not text and key in defaults}
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
        principal=principal,
        client_id=ids[-1] if ids else None,
        software_name=subject.software_name or subject.dialect.software[0],
        software_version=subject.version,
        origin=Origin.OBSERVED if subject.observed else Origin.PUSHED,
        settings={**left, **{key: text for key, text in brought.items() if text}, **subject.settings},
        defaults=list(left),
        types={name: type_name(TYPES.get(kafka_name, Type.STRING)) for name, kafka_name in kafka_names.items()},
    )


def _documentation(rule: Rule) -> Mapping[str, str]:
    """Its sections, each as one line, as they hold for files."""
    texts = {"What": rule.what, "Why": rule.why, "Example": rule.example, "Use instead": rule.use_instead, "Source": " ".join(rule.sources)}
    return {name: " ".join(text.split()) for name, text in texts.items()} | (SECTIONS if rule.code in MESSAGES else {})
