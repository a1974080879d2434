"""API model of a rule's documentation."""

from __future__ import annotations

from pydantic import Field

from clientscope.api.common import Model
from clientscope.risks import Risk
from clientscope.severities import Severity


class RulePage(Model):
    """What a rule finds, why that matters, and what to do.  In texts, ``…`` in two backticks is code."""

    code: str
    name: str = Field(description="The bad pattern.")
    title: str
    severity: Severity = Field(description="The worst that it gives.")
    risks: list[Risk]
    client_types: list[str] = Field(description="Which clients it judges: producer, consumer, …")
    needs: str = Field(description="What must be known to judge by it.")
    keys: list[str] = Field(description="The settings that it looks at.")
    what: str
    why: str
    example: str
    use_instead: str
    source: list[str] = Field(description="A line for each source.")
    links: list[str] = Field(description="The addresses in `source`.")
    fired: str = Field(description="What it says of a client that it fires on, with the default thresholds.")
    not_evaluable: str = Field(description="What it says of a client that it can't judge.")
