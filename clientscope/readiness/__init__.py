"""Upgrade readiness: whether clients that were seen work with brokers of another release (KIP-896). Data and pure functions.

What the command, the page and rules use; the rest is internal::

    target = target_release("4.1")                    # "4.1.2"; SettingsError for no known release
    uses = frozenset({ApiUse(api_key=0, api_version=2), …})
    client = ObservedUses(uses, software_name="unknown", software_version="unknown", broker_release="3.9.2")
    verdict = judge_readiness(client, target)         # ReadinessVerdict
    verdict.readiness                                 # Readiness.BREAKS, UNKNOWN, FALLS_BACK or FINE: a StrEnum, the worst first
    verdict.reasons[0].text                           # sentences; verdict.advice besides
    removed_in(11, 1)                                 # Removal(first="4.0.0", again="4.0.1"); serves("4.0.0", 0, 2) is False
    nearest_release("3.9–4.0")                        # "3.9.0": what clientscope.catalog.releases infers of a broker may be passed on

`clientscope.readiness.served` has the releases, `verdict` the meaning of each verdict, each library's lowest version with its source
(`MINIMUMS`).
"""

from __future__ import annotations

from clientscope.readiness.observed import ApiUse, ObservedUses
from clientscope.readiness.served import Removal, known_releases, nearest_release, removed_in, serves, target_release
from clientscope.readiness.verdict import Readiness, ReadinessReason, ReadinessVerdict, judge_readiness

__all__ = (
    "ApiUse",
    "ObservedUses",
    "Readiness",
    "ReadinessReason",
    "ReadinessVerdict",
    "Removal",
    "judge_readiness",
    "known_releases",
    "nearest_release",
    "removed_in",
    "serves",
    "target_release",
)
