"""Where a person reads more about a rule, on the web."""

from __future__ import annotations

import re

from clientscope.catalog.configs import TYPES
from sinks.lint.judging import RuleText

_URL = re.compile(r"https://[^\s<>\"'`]+[^\s<>\"'`.,;:)]")
_KAFKA = "https://kafka.apache.org/documentation/"
_LEAKS = "https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324"


def help_uri(rule: RuleText) -> str:
    """The first address in the rule's own source; else Kafka's documentation of the setting that it is about."""
    if found := _URL.search(rule.documentation.get("Source", "")):
        return found[0]
    if rule.is_leak:
        return _LEAKS
    clients = "consumerconfigs" if rule.code.startswith("AN2") else "producerconfigs"
    key = next((key for key in rule.keys if key in TYPES), "")
    return f"{_KAFKA}#{clients}_{key}" if key else f"{_KAFKA}#{clients}"
