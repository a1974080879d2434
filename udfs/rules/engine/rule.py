"""Rules: tables of TOML files, each with its documentation and cases, and what they say of a push.

A rule judges by its ``bounds``, by the value that is ``wrong``, or by the function that is registered under its code (`judges`).
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from pydantic import ConfigDict, TypeAdapter, ValidationError

from clientscope.catalog.configs import ClientType
from clientscope.catalog.settings import numbers
from clientscope.catalog.vocabulary import KnownSoftware
from clientscope.model.result import Outcome, Verdict
from clientscope.model.setting import Setting
from clientscope.risks import Risk
from clientscope.severities import SEVERITIES, Severity
from udfs.rules.engine.pushed_config import PushedConfig

NOT_APPLICABLE, NOT_EVALUABLE, PASSED, FIRED = -1, 0, 1, 2
OUTCOMES: tuple[Outcome, ...] = ("not_evaluable", "passed", "fired")
"""The outcomes of a rule on a push: what it needs is missing, the push passes, or the rule fires.

A rule that isn't for this client (a producer's rule and a consumer), or is switched off, says nothing: `NOT_APPLICABLE`.
"""

INFO, LOW, MEDIUM, HIGH, CRITICAL = range(5)


class Needs(Enum):
    """What must be known to judge by a rule."""

    DEFAULT_KEYS = "default keys"
    """What each client pushes by itself."""
    ALLOWED_KEYS = "allowed keys"
    """A key that is pushed only if ``config.push.allowed.keys`` names it."""
    FLEET = "fleet"
    """Other clients, or the same one earlier; on a single push such a rule is not evaluable, as far as its documentation says."""
    WIRE = "wire"
    """What the client was seen to do; likewise."""


class Judgement(NamedTuple):
    """What a rule found in a push.

    Attributes:
        outcome: `NOT_EVALUABLE`, `PASSED` or `FIRED`.
        severity: an index in `SEVERITIES`, of a rule that has several; of use where it fired.
        settings: that it was judged by; None for the effective values of the rule's ``keys``, which `judge` fills in where it fired.
    """

    outcome: int
    severity: int | None = None
    settings: Sequence[Setting] | None = None


_PASSED, _NOT_EVALUABLE = Judgement(PASSED), Judgement(NOT_EVALUABLE)


def judged(fired: bool, known: bool, severity: int | None = None, settings: Sequence[Setting] | None = None) -> Judgement:
    """Fired where it is, else passed, and not evaluable where what matters isn't known."""
    return Judgement(FIRED, severity, settings) if known and fired else _PASSED if known else _NOT_EVALUABLE


def pointing(settings: Sequence[Setting], known: bool, severity: int | None = None) -> Judgement:
    """Fired where there are settings to point to; see `judged`."""
    return judged(bool(settings), known, severity, settings)


def known(*numbers: float) -> bool:
    """Whether all of these effective numbers are known."""
    return not any(map(math.isnan, numbers))


Judges = Callable[[PushedConfig], Judgement]
"""What one rule says of a push; pure."""

FUNCTIONS: dict[str, Judges] = {}
"""Code → the function that judges."""


def judges(code: str) -> Callable[[Judges], Judges]:
    """Registers the function that judges by the rule of this code, and has its name."""

    def registered(function: Judges) -> Judges:
        FUNCTIONS[code] = function
        return function

    return registered


@dataclass(frozen=True)
class Case:
    """The verdict of a rule on one client: an example in its documentation, and a test.

    In TOML the outcome (``nothing`` for `NOT_APPLICABLE`) is the key of the settings, and ``redacted`` has the keys of hidden values.

    Attributes:
        outcome: one of the four.
        settings: what the user set, under Kafka's names or the dialect's; None is a value that was redacted.
        defaults: what the client pushed as its default.
        software, version: the client's, by KIP-511.
        severity: of `SEVERITIES`, where it isn't the rule's own.
        complete: the settings are all that there are, as in a file.
        client_id: the request header's.
    """

    outcome: int
    settings: Mapping[str, str | None] = field(default_factory=dict)
    defaults: Mapping[str, str | None] = field(default_factory=dict)
    software: str = "apache-kafka-java"
    version: str = "4.4.0"
    severity: Severity | None = None
    complete: bool = False
    client_id: str | None = "orders-1"


def _case(redacted: Sequence[str] = (), client_id: str = "orders-1", **of: Any) -> Case:
    ((outcome, word),) = (each for each in enumerate(("nothing", *OUTCOMES), NOT_APPLICABLE) if each[1] in of)
    settings = of.pop(word) | dict.fromkeys(redacted)
    return Case(outcome, settings, client_id=client_id or None, **of)


@dataclass(frozen=True)
class Instead:
    """What a rule says where it fires for some software, since the usual advice doesn't fit there.

    Attributes:
        library: whose clients it is for; with bounds, those of a release that is known to be within them.
        lacks: else, Kafka's name of a setting that the library of such clients doesn't have in their release.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    fired: str
    library: str = ""
    since: str = ""
    before: str = ""
    lacks: str = ""

    def is_for(self, it: KnownSoftware) -> bool:
        """Whether it is for a client of this software."""
        if self.lacks:
            return it.lacks(self.lacks)
        return it.is_of(self.library) and it.is_within(numbers(self.since), numbers(self.before))


def _number(value: float) -> str:
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.0%}" if value < 1 else f"{value:.3g}"


@dataclass(frozen=True, eq=False)
class Rule:
    """One thing that a pushed configuration can have wrong. Texts are plain, with code in ``…``.

    Attributes:
        code: SK… for sensitive keys, AN1… producers, AN2… consumers, AN3… any client, CF1… what a library takes; never used
            again for another rule.
        name: the bad pattern, never the cure.
        title: one sentence.
        severity: the worst that it gives, one of `SEVERITIES`.
        risks: what may happen where it fires, the first first.
        messages: for each of `OUTCOMES`, whose names they have in TOML, one sentence; when fired, one that says what to do. ``{name}`` is
            replaced by a threshold.
        sources: each with its address.
        client_types: whose rule it is.
        needs: what must be known; where several things, the one that is known least.
        keys: Kafka's names of the settings that it looks at.
        limits: thresholds by name, the bounds too; a profile may say otherwise.
        bounds: thresholds of the first key: it fires below one that is called ``minimum…``, and above any other.
        wrong: the value of the first key with which it fires.
        right: the values with which it passes; where there are none, all others.
        unless: keys with the values with which it passes, whatever the bounds say.
        dialects: for these client libraries alone; None is all. Of unknown software it is judged too.
        of_answers: about what a producer does with the broker's answers; of one with ``acks=0``, which gets none, it says nothing.
        since: the release of ours that brought it.
        instead: of several the first that is for the client's software.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    code: str
    name: str
    title: str
    severity: Severity
    risks: tuple[Risk, ...]
    messages: tuple[str, str, str]
    what: str
    why: str
    example: str
    use_instead: str
    sources: tuple[str, ...]
    cases: tuple[Case, ...]
    client_types: frozenset[ClientType] = frozenset(ClientType)
    needs: Needs = Needs.DEFAULT_KEYS
    keys: tuple[str, ...] = ()
    limits: Mapping[str, int | float] = field(default_factory=dict)
    bounds: tuple[str, ...] = ()
    wrong: str = ""
    right: tuple[str, ...] = ()
    unless: Mapping[str, str] = field(default_factory=dict)
    dialects: frozenset[str] | None = None
    of_answers: bool = False
    since: str = "0.1"
    instead: tuple[Instead, ...] = ()

    @property
    def links(self) -> list[str]:
        """The addresses of its sources, the first of which is where to read on."""
        return re.findall(r"https://[^\s,;)]+", "\n".join(self.sources))

    @property
    def of_fleet(self) -> bool:
        """Whether `streaming.findings` judges by it, over time and across the fleet: nothing can be said of a single push."""
        return not (self.bounds or self.wrong or self.code in FUNCTIONS)

    def message(self, outcome: int, limits: Mapping[str, float] = MappingProxyType({}), software: KnownSoftware | None = None) -> str:
        """What it says with an outcome, with its thresholds filled in.

        Args:
            limits: a profile's, where they differ from the rule's own.
            software: the client's; None for what it says of any.
        """
        fitting = (each.fired for each in self.instead if outcome == FIRED and software is not None and each.is_for(software))
        return next(fitting, self.messages[outcome]).format_map({name: _number(limits.get(name, own)) for name, own in self.limits.items()})

    def said_of(self, push: PushedConfig, outcome: int) -> str:
        """What it says of a push with an outcome, by the push's profile and software."""
        return _said(self, outcome, tuple(push.profile.limits.get(self.code, {}).items()), push.software)

    def judge(self, push: PushedConfig) -> Judgement:
        """What it says by its bounds, or by the value that is wrong, of a push of a client that it is for."""
        if self.bounds:
            number, passes, beyond = push.number(self.keys[0]), False, False
            for key, passing in self.unless.items():
                passes = passes or push.text(key) == passing
            for name in self.bounds:
                bound = limit(push, self.code, name)
                beyond = beyond or (number < bound if name.startswith("minimum") else number > bound)
            return judged(beyond and not passes, passes or known(number))
        text = push.text(self.keys[0]) if self.wrong else None
        return judged(text == self.wrong, text is not None and (not self.right or text in (self.wrong, *self.right)))


_RULE = TypeAdapter(Rule)


def _declared(code: str, said: dict[str, Any]) -> Rule:
    """The rule of a table; see `Rule`."""
    bounds, limits = said.pop("bounds", {}), said.pop("limits", {})
    messages = tuple(said.pop(outcome) for outcome in OUTCOMES)
    cases = tuple(_case(**each) for each in said.pop("cases"))
    table = {**said, "code": code, "messages": messages, "cases": cases, "limits": {**bounds, **limits}, "bounds": tuple(bounds)}
    made = _RULE.validate_python(table)
    for outcome in range(len(OUTCOMES)):
        made.message(outcome)  # a KeyError for a threshold that isn't there
    return made


def declared(name: str, text: str) -> dict[str, Rule]:
    """Code → rule, of a file of them.

    Raises:
        ValueError: with the file's name, the rule's code and the field that is wrong.
    """
    made = {}
    for code, said in tomllib.loads(text).items():
        try:
            made[code] = _declared(code, said)
        except ValidationError as error:
            first = error.errors()[0]
            raise ValueError(f"{name}: {code}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{name}: {code}: {error}{' is missing' * isinstance(error, KeyError)}") from None
    return made


DECLARED: Mapping[str, Rule] = {
    code: rule
    for file in files("udfs.rules").iterdir()
    if file.name.endswith(".toml")
    for code, rule in declared(file.name, file.read_text("utf-8")).items()
}
"""Code → its rule."""


def limit(push: PushedConfig, code: str, name: str) -> float:
    """A threshold of a rule, by the push's profile."""
    return push.profile.limits.get(code, {}).get(name, DECLARED[code].limits[name])


def judge(push: PushedConfig, rules: tuple[Rule, ...]) -> Iterator[tuple[Rule, Judgement]]:
    """What each of the rules says that is for this client, and is switched on."""
    library = push.software.dialect.name if push.software.dialect else None
    off, no_answers = push.profile.off, push.text("acks") == "0"
    for rule, judges_by, surely in _meant(rules, push.candidates, push.shared, library, off, no_answers):
        judgement = judges_by(push) if surely else _NOT_EVALUABLE
        if judgement.outcome == FIRED and judgement.settings is None:
            judgement = Judgement(FIRED, judgement.severity, push.evidence(rule.keys))
        yield rule, judgement


def verdict(push: PushedConfig, rule: Rule, judgement: Judgement) -> Verdict:
    """The same as it may be written down."""
    severity = rule.severity if judgement.severity is None else SEVERITIES[judgement.severity]
    said, settings = rule.said_of(push, judgement.outcome), tuple(judgement.settings or ())
    return Verdict(rule.code, rule.name, severity, said, settings, OUTCOMES[judgement.outcome])


@lru_cache(maxsize=1024)
def _meant(
    rules: tuple[Rule, ...], candidates: frozenset[ClientType], shared: bool, library: str | None, off: frozenset[str], no_answers: bool
) -> list[tuple[Rule, Judges, bool]]:
    """The rules that may be for such a client, what judges by each, and whether it surely is for it."""
    return [
        (rule, FUNCTIONS.get(rule.code, rule.judge), shared or candidates <= rule.client_types)
        for rule in rules
        if not candidates.isdisjoint(rule.client_types)
        and (rule.dialects is None or library is None or library in rule.dialects)
        and rule.code not in off
        and not (rule.of_answers and no_answers)
    ]


@lru_cache(maxsize=4096)
def _said(rule: Rule, outcome: int, limits: tuple[tuple[str, float], ...], software: KnownSoftware) -> str:
    return rule.message(outcome, dict(limits), software)
