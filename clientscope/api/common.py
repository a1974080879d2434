"""API models that others share: lists, how far topics were read, and errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

Feed = Literal["starting", "catching_up", "live", "unreachable"]


DESCRIBED = ConfigDict(use_attribute_docstrings=True)
"""What stands below a field is its description in the API's schema; but not in that of a class that inherits the field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiProblem:
    """Why a request was refused."""

    __pydantic_config__ = DESCRIBED

    detail: str
    hint: str | None = None
    """What to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryProblem:
    """What is wrong with `q` or `sort`, and where."""

    __pydantic_config__ = DESCRIBED

    detail: str
    position: int
    """Where it begins, in characters from 0."""
    length: int
    """How many characters it is about; 0 where something is missing."""
    expected: list[str]
    """What could stand there: names of fields, values, or forms; may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What every list has."""

    __pydantic_config__ = DESCRIBED

    version: int
    feed: Feed
    total: Annotated[int | None, Field(description="Length of the whole list; null while it is not known.")]
    offset: Annotated[int, Field(description="How many of them come before `items`.")] = 0
