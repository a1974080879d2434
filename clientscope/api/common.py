"""API models that others share: lists, how far topics were read, and errors."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Feed = Literal["starting", "catching_up", "live", "unreachable"]


DESCRIBED = ConfigDict(use_attribute_docstrings=True)
"""What stands below a field is its description in the API's schema."""


class Model(BaseModel):
    """Frozen, like every value here."""

    model_config = ConfigDict(frozen=True, **DESCRIBED)


class ApiProblem(Model):
    """Why a request was refused."""

    detail: str
    hint: str | None = None
    """What to do about it."""


class QueryProblem(Model):
    """What is wrong with `q` or `sort`, and where."""

    detail: str
    position: int
    """Where it begins, in characters from 0."""
    length: int
    """How many characters it is about; 0 where something is missing."""
    expected: list[str]
    """What could stand there: names of fields, values, or forms; may be empty."""


class Listing(Model):
    """What every list has."""

    version: int
    feed: Feed
    total: int | None
    """Length of the whole list; null while it is not known."""
    offset: int = 0
    """How many of them come before `items`."""
