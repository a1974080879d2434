"""Registry of the rules. To add one: a function in one of these modules, below `udfs.rules.engine.rule.rule`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clientscope.risks import Risk
from udfs.rules import batching, connections, delivery, fleet, groups, keys, leaks, reading, software, values
from udfs.rules.engine.rule import REGISTERED, Rule, unjudged

if TYPE_CHECKING:
    from clientscope.findings.record import Finding  # its models take a tenth of the start of a command that needs none

MODULES = (delivery, batching, groups, reading, connections, software, values, keys, leaks, fleet)
"""Whose import registers them."""

EVERY_RULE: tuple[Rule, ...] = tuple(sorted(REGISTERED, key=lambda rule: rule.code))
"""All, by code, as results list them."""

RULES = tuple(rule for rule in EVERY_RULE if rule.evaluate is not unjudged)
"""Judged push by push."""

FLEET_RULES = tuple(rule for rule in EVERY_RULE if rule.evaluate is unjudged)
"""Judged over time and across the fleet (`streaming.findings`); no push's result lists them."""

LIMITS = {rule.code: tuple(rule.limits) for rule in EVERY_RULE}
"""Every code → the names of its thresholds: what a profile may change."""

LOW_CONFIDENCE = frozenset({leaks.random_looking_value.code})
"""Rules whose findings are in a list of their own and cause no alert."""

_RISKS = {rule.code: rule.risks for rule in EVERY_RULE}


def risks_of(code: str) -> tuple[Risk, ...]:
    """What a finding of this code risks; nothing of a code that is no rule's, such as those of clientscope's own operation."""
    return _RISKS.get(code, ())


def with_risks(finding: Finding) -> Finding:
    """A finding with what it risks: records of releases before 0.2 don't say it."""
    return finding if finding.risks else finding.model_copy(update={"risks": list(risks_of(finding.code))})
