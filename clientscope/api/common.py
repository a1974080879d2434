"""API models that others share: lists, how far topics were read, and errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar, dataclass_transform

from pydantic import ConfigDict, Field

Feed = Literal["starting", "catching_up", "live", "unreachable"]


DESCRIBED = ConfigDict(use_attribute_docstrings=True)
"""What stands below a field is its description in the API's schema; but not in that of a class that inherits the field."""

Model = TypeVar("Model")


@dataclass_transform(kw_only_default=True, frozen_default=True)
def model(cls: type[Model]) -> type[Model]:
    """Makes a class a model of the API: a frozen dataclass whose fields are `DESCRIBED`."""
    cls.__pydantic_config__ = DESCRIBED  # type: ignore[attr-defined]
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


@model
class ApiProblem:
    """Why a request was refused."""

    detail: str
    hint: str | None = None
    """What to do about it."""


@model
class QueryProblem:
    """What is wrong with `q` or `sort`, and where."""

    detail: str
    position: int
    """Where it begins, in characters from 0."""
    length: int
    """How many characters it is about; 0 where something is missing."""
    expected: list[str]
    """What could stand there: names of fields, values, or forms; may be empty."""


@model
class Listing:
    """What every list has."""

    version: int
    feed: Feed
    total: Annotated[int | None, Field(description="Length of the whole list; null while it is not known.")]
    offset: Annotated[int, Field(description="How many of them come before `items`.")] = 0
