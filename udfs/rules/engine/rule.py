"""Definition of a rule."""

from __future__ import annotations

import inspect
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, NamedTuple

from clientscope.catalog.configs import ClientType
from clientscope.risks import Risk
from clientscope.severities import Severity
from udfs.rules.engine.push import Push, SettingOf
from udfs.rules.engine.vocabulary import KnownSoftware

NOT_APPLICABLE, NOT_EVALUABLE, PASSED, FIRED = -1, 0, 1, 2
OUTCOMES = ("not_evaluable", "passed", "fired")
"""The outcomes of a rule on a push: what it needs is missing, the push passes, or the rule fires.

A rule that isn't for this client (a producer's rule and a consumer), or is switched off, says nothing: `NOT_APPLICABLE`.
"""

INFO, LOW, MEDIUM, HIGH, CRITICAL = range(5)

ANY_CLIENT = frozenset(ClientType)
PRODUCERS = frozenset({ClientType.PRODUCER})
CONSUMERS = frozenset({ClientType.CONSUMER})
FETCHING = frozenset({ClientType.CONSUMER, ClientType.SHARE_CONSUMER})


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
    settings: Sequence[SettingOf] | None = None


def judged(fired: bool, known: bool, severity: int | None = None, settings: Sequence[SettingOf] | None = None) -> Judgement:
    """Fired where it is, else passed, and not evaluable where what matters isn't known."""
    return Judgement(NOT_EVALUABLE if not known else FIRED if fired else PASSED, severity, settings)


def unjudged(push: Push) -> Judgement:
    """Nothing can be said of a single push: of a rule about the fleet, by which `streaming.findings` judges."""
    return Judgement(NOT_EVALUABLE)


@dataclass(frozen=True)
class Case:
    """The verdict of a rule on one client: an example in its documentation, and a test.

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


@cache
def _cases() -> dict[str, tuple[Case, ...]]:
    found = tomllib.loads(files("udfs.rules").joinpath("cases.toml").read_text("utf-8"))
    return {code: tuple(_case(**each) for each in cases) for code, cases in found.items()}


def _case(redacted: Sequence[str] = (), client_id: str = "orders-1", **of: Any) -> Case:
    outcome, word = next(each for each in enumerate(("nothing", *OUTCOMES), NOT_APPLICABLE) if each[1] in of)
    settings = of.pop(word) | dict.fromkeys(redacted)
    return Case(outcome, settings, client_id=client_id or None, **of)


SECTIONS = ("What", "Why", "Example", "Use instead", "Source")


@dataclass(frozen=True)
class Documentation:
    """Sections are plain text, in which ``…`` is code.

    Attributes:
        title: one sentence.
        links: the addresses in ``source``, the first of which is where to read on.
    """

    title: str
    what: str
    why: str
    example: str
    use_instead: str
    source: str
    links: tuple[str, ...]


def documentation(docstring: str) -> Documentation:
    """
    Raises:
        ValueError: it doesn't begin with ``CODE: title``, or hasn't all of `SECTIONS` in their order.
    """
    first, _, rest = inspect.cleandoc(docstring).partition("\n")
    title = re.fullmatch(r"[A-Z]{2}\d{3}: (.+)", first)
    found = re.split(rf"^({'|'.join(SECTIONS)})$", rest, flags=re.MULTILINE)
    if title is None or tuple(found[1::2]) != SECTIONS:
        raise ValueError(f"a rule's docstring begins with its code and title, and has these sections: {', '.join(SECTIONS)}")
    what, why, example, use_instead, source = (textwrap.dedent(text).strip("\n ") for text in found[2::2])
    return Documentation(title[1], what, why, example, use_instead, source, tuple(re.findall(r"https://[^\s,;)]+", source)))


def _number(value: float) -> str:
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.3g}"


@dataclass(frozen=True, eq=False)
class Rule:
    """One thing that a pushed configuration can have wrong.

    Attributes:
        code: SK… for sensitive keys, AN1… producers, AN2… consumers, AN3… any client, CF1… what a library takes; never used
            again for another rule.
        name: the bad pattern, never the cure.
        severity: the worst that it gives, one of `SEVERITIES`.
        risks: what may happen where it fires, the first first.
        messages: for each of `OUTCOMES` one sentence; when fired, one that says what to do.  ``{name}`` is replaced by a threshold.
        evaluate: judges a push; pure.
        client_types: whose rule it is.
        needs: what must be known; where several things, the one that is known least.
        keys: Kafka's names of the settings that it looks at.
        limits: thresholds by name; a profile may say otherwise.
        dialects: for these client libraries alone; None is all. Of unknown software it is judged too.
        of_answers: about what a producer does with the broker's answers; of one with ``acks=0``, which gets none, it says nothing.
        since: the release of ours that brought it.
        instead: what it says where it fires for software of which this holds, of several the first: the usual advice doesn't fit there.
        docstring: of the function that judges by it.
    """

    code: str
    name: str
    severity: Severity
    risks: tuple[Risk, ...]
    messages: tuple[str, str, str]
    evaluate: Callable[[Push], Judgement] = unjudged
    client_types: frozenset[ClientType] = ANY_CLIENT
    needs: Needs = Needs.DEFAULT_KEYS
    keys: tuple[str, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)
    dialects: frozenset[str] | None = None
    of_answers: bool = False
    since: str = "0.1"
    instead: tuple[tuple[Callable[[KnownSoftware], bool], str], ...] = ()
    docstring: str = ""

    @property
    def cases(self) -> tuple[Case, ...]:
        """Its verdicts in ``cases.toml``."""
        return _cases().get(self.code, ())

    @property
    def documentation(self) -> Documentation:
        """What, why, example, use instead and source."""
        return documentation(self.docstring)

    def message(self, outcome: int, limits: Mapping[str, float] = MappingProxyType({}), software: KnownSoftware | None = None) -> str:
        """What it says with an outcome, with its thresholds filled in.

        Args:
            limits: a profile's, where they differ from the rule's own.
            software: the client's; None for what it says of any.
        """
        fitting = (text for holds, text in self.instead if outcome == FIRED and software is not None and holds(software))
        return next(fitting, self.messages[outcome]).format_map({name: _number(limits.get(name, own)) for name, own in self.limits.items()})

    def said_of(self, push: Push, outcome: int) -> str:
        """What it says of a push with an outcome, by the push's profile and software."""
        return _said(self, outcome, tuple(push.profile.limits.get(self.code, {}).items()), push.software)

    def limit(self, push: Push, name: str) -> float:
        """A threshold, by the push's profile."""
        return push.profile.limits.get(self.code, {}).get(name, self.limits[name])


@lru_cache(maxsize=4096)
def _said(rule: Rule, outcome: int, limits: tuple[tuple[str, float], ...], software: KnownSoftware) -> str:
    return rule.message(outcome, dict(limits), software)


def judge(push: Push, rules: tuple[Rule, ...]) -> Iterator[tuple[Rule, Judgement]]:
    """What each of the rules says that is for this client, and is switched on."""
    off, no_answers = push.profile.off, push.text("acks") == "0"
    library = push.software.dialect.name if push.software.dialect else None
    for rule, surely in _meant(rules, push.candidates, push.shared, library):
        if rule.code not in off and not (rule.of_answers and no_answers):
            judgement = rule.evaluate(push) if surely else Judgement(NOT_EVALUABLE)
            if judgement.outcome == FIRED and judgement.settings is None:
                judgement = judgement._replace(settings=push.evidence(rule.keys))
            yield rule, judgement


@lru_cache(maxsize=1024)
def _meant(rules: tuple[Rule, ...], candidates: frozenset[ClientType], shared: bool, library: str | None) -> list[tuple[Rule, bool]]:
    """The rules that may be for such a client, and whether each surely is."""
    return [
        (rule, shared or candidates <= rule.client_types)
        for rule in rules
        if not candidates.isdisjoint(rule.client_types) and (rule.dialects is None or library is None or library in rule.dialects)
    ]


REGISTERED: list[Rule] = []
"""Every rule, in the order of the modules that were imported."""


def rule(code: str, **said: Any) -> Callable[[Callable[[Push], Judgement]], Rule]:
    """Makes and registers a rule of the function that judges by it: that has its name, and as docstring its documentation.

    Args:
        said: attributes of `Rule`.
    """

    def made(evaluate: Callable[[Push], Judgement]) -> Rule:
        return registered(code, evaluate, evaluate=evaluate, **said)

    return made


def registered(code: str, documented: Callable[..., object], **said: Any) -> Rule:
    """A rule with this function's name and documentation, in `REGISTERED` from now on."""
    REGISTERED.append(Rule(code, documented.__name__, docstring=documented.__doc__ or "", **said))
    return REGISTERED[-1]


def checked_rule(
    code: str,
    note: str = "",
    evaluable: Callable[[Push], bool] | None = None,
    severity_of: Callable[[Push], int | None] = lambda push: None,
    **said: Any,
) -> Callable[[Callable[[Push], Sequence[int]]], Rule]:
    """The same of a rule about single settings, by the catalogue: the function returns their places.

    Args:
        note: what is said of each; ``{instead}``, ``{since}`` and ``{allowed}`` are filled in.
        evaluable: whether the rule could have fired; None where the client's library is known.
        severity_of: None where it is the rule's own.
    """

    def made(found: Callable[[Push], Sequence[int]]) -> Rule:
        def evaluate(push: Push) -> Judgement:
            settings = push.noted(found(push), note)
            return judged(bool(settings), push.software_known if evaluable is None else evaluable(push), severity_of(push), settings)

        return registered(code, found, evaluate=evaluate, **said)

    return made


def fleet_rule(code: str, **said: Any) -> Callable[[Callable[[], None]], Rule]:
    """The same of a rule about the fleet: by a single push nothing can be judged, so the function is empty."""

    return lambda documented: registered(code, documented, **said)
