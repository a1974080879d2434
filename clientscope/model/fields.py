"""Types of the fields of the topics' records: what a reader takes, and what their JSON Schemas state."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar, dataclass_transform

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema

NAME_LENGTH = 256
"""Longest name kept of anything that a client chose, in characters."""

SENTENCE_LENGTH = 1_000

# Control characters, and the marks that reorder or hide text beside them on a page or in a terminal.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def clean(text: str, length: int = NAME_LENGTH) -> str:
    """The text as it may be shown: no control or direction marks, no lone surrogates, at most ``length`` characters."""
    if len(text) <= length and text.isascii() and text.isprintable():  # as nearly all are: a sixth of the time
        return text
    text = text if len(text) <= length else text[: length - 1] + "…"
    return _UNPRINTABLE.sub("\ufffd", text).encode("utf-8", "replace").decode("utf-8")


def sentence(text: str) -> str:
    """A sentence as it may be shown."""
    return clean(text, SENTENCE_LENGTH)


Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
Id32 = Annotated[int, Field(ge=0, le=2**31 - 1)]
Id64 = Annotated[int, Field(ge=0, le=2**63 - 1)]
Count = Id64
Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Ms = Int64
"""Since the epoch, by a clock that may be wrong by any time."""
ShownMs = Annotated[int, Field(ge=0, le=253_402_300_799_999)]
"""Since the epoch, up to the year 9999: what a date can be made of."""
Interval = Id32
"""In ms."""
Name = Annotated[str, Field(max_length=1_024)]
"""What somebody chose. Gateways record 256 characters of it."""
ShownName = Annotated[str, AfterValidator(clean)]
"""What somebody chose, as it may be shown: bounded and cleaned when it is read."""
Sentence = Annotated[str, AfterValidator(sentence)]
"""The same of a text."""
GivenName = Annotated[str, Field(min_length=1, max_length=1_024)]
ClientKey = Annotated[str, Field(max_length=2_048)]
"""As `clientscope.model.client_key` has it."""
Uuid = Annotated[str, Field(pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Version = Annotated[int, Field(strict=True, ge=1, le=1), WithJsonSchema({"const": 1, "type": "integer"})]
"""Of a record's format. Fields may come, which readers that don't know them ignore; another version is for what they would get wrong."""

READ = ConfigDict(strict=True, extra="ignore")
"""No value is converted to another type."""

Record = TypeVar("Record")


@dataclass_transform(kw_only_default=True, frozen_default=True)
def record(cls: type[Record]) -> type[Record]:
    """Makes a class one of what a topic's records say: a frozen dataclass, of which pydantic reads the fields as `READ` says."""
    cls.__pydantic_config__ = READ  # type: ignore[attr-defined]
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)
