"""Verdicts of the rules on settings files; the only module here that knows the rules' internals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from clientscope.catalog.configs import TYPES, ClientType, Type
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.setting_names import is_plugins
from clientscope.commands.lint.shown import LEFT, LEFT_KEYS, MESSAGES, OF_PUSHES_ALONE, documentation
from clientscope.policy.redaction import Left, type_name
from clientscope.profiles import Thresholds
from clientscope.records.config_record import ClientConfigRecord
from clientscope.records.enums import Origin
from clientscope.severities import SEVERITIES
from udfs.decode import push_columns
from udfs.kernels import applications
from udfs.pushes import Pushes
from udfs.rules.engine.batch import Batch
from udfs.rules.engine.batch import judge as judge_batch
from udfs.rules.engine.checked import NOT_SEARCHED
from udfs.rules.engine.rule import FIRED, NOT_APPLICABLE, NOT_EVALUABLE, OUTCOMES, Judgement, Rule, SettingOf
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
    """

    settings: Mapping[str, str]
    dialect: Dialect
    version: str
    client_type: ClientType | None
    principal: str | None = None
    prefixed: Mapping[str, str] | None = None
    software_name: str = ""
    observed: bool = False

    @property
    def kind(self) -> tuple[ClientType | None, bool]:
        """Those of a kind are judged together: whose settings, and whether they are whole."""
        return self.client_type, self.prefixed is None


class FileVerdict(NamedTuple):
    """The verdict of one rule on one subject: ``outcome`` is ``fired``, ``passed`` or ``not_evaluable``."""

    code: str
    severity: str
    outcome: str
    message: str
    settings: tuple[SettingOf, ...]


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

_UNKNOWN_NAME = "CF101"


def severity_of(verdict: FileVerdict, about: Sequence[SettingOf]) -> str:
    """How bad a finding is: of names that are near to none, those that the library ignores, and plug-ins', are only for information."""
    if verdict.code != _UNKNOWN_NAME or not about or about[0].note not in (None, NOT_SEARCHED):
        return verdict.severity
    return "info" if verdict.severity == "medium" or is_plugins(about[0].key) else verdict.severity


OF_ONE_CLIENT = "CF110"
"""The rule about other clients' settings: of a file that several clients share it says nothing."""

_RULES = tuple(rule for rule in RULES if rule.code not in OF_PUSHES_ALONE)


@cache
def catalogue() -> Mapping[str, RuleTexts]:
    """Every rule's code → its texts."""
    return {rule.code: _text(rule) for rule in _RULES}


def _text(rule: Rule) -> RuleTexts:
    return RuleTexts(rule.code, rule.name, rule.severity, rule.keys, _documentation(rule), rule.documentation.links[0])


def application_client_id(client_id: str | None) -> str | None:
    """client.id without the part that distinguishes instances."""
    return application_client_ids([client_id])[0]


def application_client_ids(client_ids: Sequence[str | None]) -> list[str | None]:
    """The same, for many."""
    texts: list[str | None] = applications.application_client_id(pa.array(client_ids, pa.string())).to_pylist()
    return texts


def judge(subjects: Sequence[Subject], thresholds: Thresholds) -> list[list[FileVerdict]]:
    """Every rule that applies, for each subject, in the order of the rules."""
    judged: list[list[FileVerdict]] = [[] for _ in subjects]
    for client_type, complete in dict.fromkeys(subject.kind for subject in subjects):
        places = [place for place, subject in enumerate(subjects) if subject.kind == (client_type, complete)]
        pushes = _pushes([subjects[place] for place in places])
        batch = Batch(pushes, thresholds, complete=complete, client_type=client_type)
        for rule, judgement in zip(_RULES, judge_batch(batch, _RULES), strict=True):
            for place, verdict in zip(places, _verdicts(rule, batch, judgement), strict=True):
                if verdict is not None:
                    judged[place].append(verdict)
    return judged


def _verdicts(rule: Rule, batch: Batch, judgement: Judgement) -> list[FileVerdict | None]:
    """Per subject; None where the rule isn't for it, or is switched off."""
    rows = np.flatnonzero(judgement.outcomes == FIRED)
    evidence = rule.shown(batch, rows)
    found = dict(zip(rows.tolist(), evidence.indices.tolist(), strict=True))
    verdicts: list[FileVerdict | None] = []
    every = np.arange(len(batch))
    said = cache(lambda outcome: batch.messages(rule, outcome, every))
    for row, outcome in enumerate(judgement.outcomes.tolist()):
        if outcome == NOT_APPLICABLE:
            verdicts.append(None)
            continue
        severity = rule.severity if judgement.severities is None else SEVERITIES[int(judgement.severities[row])]
        settings = tuple(evidence.distinct[found[row]]) if row in found else ()
        # If the settings are incomplete, a verdict that rests on none of them may change with settings elsewhere.
        shown = NOT_EVALUABLE if outcome == FIRED and not settings and not batch.complete else outcome
        texts, which = said(shown)
        message = MESSAGES.get(rule.code, texts[which[row]]) if shown == FIRED else texts[which[row]]
        verdicts.append(FileVerdict(rule.code, severity, OUTCOMES[shown], message, settings))
    return verdicts


def _pushes(subjects: Sequence[Subject]) -> Pushes:
    """The files as if their clients had pushed them, redacted."""
    records = [_record(subject) for subject in subjects]
    return Pushes(push_columns(records, [None] * len(records), None, Left(LEFT, frozenset(LEFT_KEYS))))


def _record(subject: Subject) -> ClientConfigRecord:
    kafka_names = {name: subject.dialect.kafka_name(name, subject.client_type or ClientType.ADMIN) for name in subject.settings}
    ids = [subject.settings[name] for name, kafka_name in kafka_names.items() if kafka_name == "client.id"]
    return ClientConfigRecord(
        version=1,
        received_timestamp_ms=0,
        cluster_id="",
        broker_id=0,
        gateway_id="",
        gateway_epoch=1,
        connection_id=0,
        listener_name="",
        security_protocol="PLAINTEXT",
        client_address="",
        principal=subject.principal,
        client_id=ids[-1] if ids else None,
        client_software_name=subject.software_name or subject.dialect.software[0],
        client_software_version=subject.version,
        origin=Origin.OBSERVED if subject.observed else Origin.PUSHED,
        settings=dict(subject.settings),
        types={name: type_name(TYPES.get(kafka_name, Type.STRING)) for name, kafka_name in kafka_names.items()},
    )


def _documentation(rule: Rule) -> Mapping[str, str]:
    """The sections of the rule's module, each as one line."""
    made = rule.documentation
    sections = {"What": made.what, "Why": made.why, "Example": made.example, "Use instead": made.use_instead, "Source": made.source}
    return documentation(rule.code, {name: " ".join(text.split()) for name, text in sections.items()})
