"""Problems of one push: each verdict as the finding that it belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from clientscope.findings.conditions import CODES
from clientscope.findings.fingerprints import fingerprint, secret_fingerprint
from clientscope.model.client_key import Tenant
from clientscope.model.finding import Kind
from clientscope.model.result import Verdict
from clientscope.model.setting import Setting
from clientscope.risks import Risk
from clientscope.severities import SEVERITIES
from streaming.findings.inputs import JudgedPush
from streaming.limits import Limit, Overflow
from udfs.rules.registry import EVERY_RULE, LOW_CONFIDENCE

_SECRETS = ("SK001", "SK002", "SK004")
"""Rules on secrets."""

_KEPT_BACK = ("SK003", "SK005")
"""Rules on settings that are kept back without being known to be secrets."""

MOST_SECRETS = 20
"""Different secrets of one application under one key that get a finding each; more of them (rotating tokens, say) share one."""

SECRETS = Limit(
    "secrets",
    MOST_SECRETS,
    "different secrets of one application under one key",
    "further ones are one finding together",
    "low",
    "they look like tokens that change all the time, and further ones are one finding together",
)


class RuleText(NamedTuple):
    """A rule's texts for findings, besides its sentence."""

    name: str
    use_instead: str
    link: str
    risks: tuple[Risk, ...] = ()


def _texts() -> Mapping[str, RuleText]:  # pragma: no mutate block  # made when it is imported, before a mutant is chosen
    texts = {code: RuleText(name, "", "") for code, name in CODES.items()}
    for rule in EVERY_RULE:
        texts[rule.code] = RuleText(rule.name, " ".join(rule.use_instead.split()), rule.links[0], rule.risks)
    return texts


TEXTS = _texts()
"""Every code → its texts."""

KEYS = {rule.code: rule.keys for rule in EVERY_RULE}


class Problem(NamedTuple):
    """One thing that is wrong with one push.

    Attributes:
        key: the setting that it is about, Kafka's name.
        severity: an index in `SEVERITIES`.
        settings: those that decided.
        digest: a secret's; None of other things, and where no digest was made.
    """

    fingerprint: str
    code: str
    kind: Kind
    key: str
    severity: int
    message: str
    settings: tuple[Setting, ...]
    digest: str | None = None

    @property
    def low_confidence(self) -> bool:
        """Whether it only looks like one."""
        return self.code in LOW_CONFIDENCE


class Secrets:
    """Which digests each application has pushed under each key, so that their number stays bounded."""

    def __init__(self) -> None:
        self.full = Overflow(SECRETS)
        self._digests: dict[str, dict[str, list[str]]] = {}

    def fingerprint(self, code: str, application: str, key: str, digest: str | None, tenant: Tenant = "") -> str:
        """A secret's fingerprint: by its digest, so that it is one finding in any place; without a digest by its place."""
        if digest is None:
            return fingerprint(code, application, key)
        known = self._digests.setdefault(application, {}).setdefault(key, [])
        if digest not in known:
            if len(known) >= MOST_SECRETS:
                self.full.left_out(tenant)
                return fingerprint(code, application, key)
            known.append(digest)
        return secret_fingerprint(digest)

    def forget(self, application: str) -> None:
        """Nothing is known of this application's any more."""
        self._digests.pop(application, None)

    def earlier(self, application: str, key: str, digest: str) -> list[str]:
        """Other digests that were pushed there."""
        return [each for each in self._digests.get(application, {}).get(key, ()) if each != digest]


def problems(push: JudgedPush, secrets: Secrets) -> list[Problem]:
    """All that is wrong with a push, one of each fingerprint."""
    found: dict[str, Problem] = {}
    for verdict in push.verdicts:
        for problem in _of(push, verdict, secrets):
            known = found.get(problem.fingerprint)
            if known is None or problem.severity > known.severity:
                found[problem.fingerprint] = problem
    return list(found.values())


def _of(push: JudgedPush, verdict: Verdict, secrets: Secrets) -> Iterable[Problem]:
    code, severity = verdict.code, SEVERITIES.index(verdict.severity)
    if code in _SECRETS:
        for setting in verdict.settings:
            key, digest = setting.key, setting.digest
            which = secrets.fingerprint(code, push.application, key, digest, push.tenant)
            yield Problem(which, code, "leak", key, severity, verdict.message, (setting,), digest)
    elif code in _KEPT_BACK:
        for setting in verdict.settings:
            which = fingerprint(code, push.application, setting.key)
            yield Problem(which, code, "setting", setting.key, severity, verdict.message, (setting,))
    else:
        keys = KEYS.get(code, ())
        key = keys[0] if keys else verdict.settings[0].key if verdict.settings else ""
        yield Problem(fingerprint(code, push.application, key), code, "setting", key, severity, verdict.message, verdict.settings)
