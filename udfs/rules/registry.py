"""Registry of the rules.

Each is a table in one of the TOML files beside this; where neither bounds nor a wrong value decide, a function judges, in the module of the
file's name.
"""

from __future__ import annotations

from udfs.rules import batching, combinations, connections, delivery, groups, keys, leaks, reading, software, values
from udfs.rules.engine.rule import DECLARED, Needs, Rule

MODULES = (delivery, batching, groups, reading, connections, software, values, combinations, keys, leaks)
"""Whose import registers the functions that judge."""

EVERY_RULE: tuple[Rule, ...] = tuple(sorted(DECLARED.values(), key=lambda rule: rule.code))
"""All, by code, as results list them."""

RULES = tuple(rule for rule in EVERY_RULE if not rule.of_fleet)
"""Judged push by push."""

FLEET_RULES = tuple(rule for rule in EVERY_RULE if rule.of_fleet)
"""Judged over time and across the fleet (`streaming.findings`); no push's result lists them."""

if UNJUDGED := [rule.code for rule in FLEET_RULES if rule.needs not in (Needs.FLEET, Needs.WIRE)]:
    raise ValueError(f"{', '.join(UNJUDGED)}: neither bounds, nor a wrong value, nor a function with @judges")

LIMITS = {rule.code: tuple(rule.limits) for rule in EVERY_RULE}
"""Every code → the names of its thresholds: what a profile may change."""

LOW_CONFIDENCE = frozenset({"SK004"})
"""Rules whose findings are in a list of their own and cause no alert."""
