"""API models of judged pushes. Times are in ms since the epoch, UTC."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clientscope.api.common import Listing
from clientscope.results import ResultValue

Verdict = Literal["findings", "clean", "partly_judged", "not_judged"]


class ResultRow(ResultValue):
    """The verdict of every rule on one configuration, pushed or seen otherwise."""

    verdict: Verdict = Field(description="`not_judged` where no rule could judge it: that is not clean.")


class Results(Listing):
    """Newest first, of the last day; the newest thousand, the newest thousand with findings, and the newest thousand that were pushed."""

    items: list[ResultRow]
