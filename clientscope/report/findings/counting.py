"""Counts of findings: which ones "findings" counts, on the page, in the API and on terminals alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from clientscope.findings.record import TO_DO, Finding, State
from clientscope.report.text import counted
from clientscope.severities import SEVERITIES


def counts(state: State, confidence: str, suppressed: bool) -> bool:
    """Whether a finding is counted: a person should act, it is sure, and no suppression hides it."""
    return state in TO_DO and confidence == "high" and not suppressed


def is_counted(finding: Finding) -> bool:
    """See `counts`."""
    return counts(finding.state, finding.confidence, finding.suppressed is not None)


def said(by_severity: Mapping[str, int]) -> str:
    """``5 findings: 2 high, 3 low``."""
    parts = ", ".join(f"{number:,} {severity}" for severity in reversed(SEVERITIES) if (number := by_severity.get(severity)))
    return ": ".join(filter(None, (counted(sum(by_severity.values()), "finding"), parts)))


def listed(findings: Collection[Finding]) -> str:
    """How many a list has, whatever their state; those of low confidence apart."""
    sure = [each.severity for each in findings if each.confidence == "high"]
    doubtful = len(findings) - len(sure)
    return said(Counter(sure)) + (f"; {doubtful:,} more of low confidence" if doubtful else "")
