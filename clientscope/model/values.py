"""Field types of the JSON values of clientscope's topics; text that a client chose is bounded and cleaned when read."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from clientscope.catalog import sensitive
from clientscope.catalog.sensitive_values import judge_value
from clientscope.catalog.value_states import ValueState
from clientscope.errors import RecordError
from clientscope.model.fields import Version
from clientscope.model.setting import Redaction, Setting, reason_name

NAME_LENGTH = 256
"""Longest name kept of anything that a client chose, in characters."""

SENTENCE_LENGTH = 1_000

_STRING = 1
"""Ordinal of STRING in Kafka's ConfigDef.Type."""

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


Name = Annotated[str, AfterValidator(clean)]
Sentence = Annotated[str, AfterValidator(sentence)]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Ms = Annotated[int, Field(ge=0, le=253_402_300_799_999)]
"""Since the epoch, up to the year 9999: what a date can be made of."""


class Value(BaseModel):
    """A value read from a topic: unknown fields are for later releases and ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class TopicValue(Value):
    """The value of a record, as a whole.

    Attributes:
        version: of its format. Fields may come without a new one; it changes with what readers of the earlier one would get wrong.
    """

    version: Version = 1


def shown_setting(setting: Setting) -> Setting:
    """A setting of a finding or a result without what must not be shown: other programs may write to their topics."""
    key, value, why, note = sensitive.shown_key(setting.key), setting.value, setting.redacted, setting.note
    if value is not None:
        state = sensitive.reason(setting.key, value, _STRING)
        if why is None and state is not ValueState.PRESENT:
            why = Redaction(reason_name(state), len(value.encode("utf-8", "replace")))
    if note is not None:
        note = sentence(note) if judge_value(note) is ValueState.PRESENT else None
    return replace(setting, key=clean(key), value=None if value is None or why else clean(value), redacted=why, note=note)


ShownSetting = Annotated[Setting, AfterValidator(shown_setting)]


Parsed = TypeVar("Parsed", bound=Value)


def parse(value_class: type[Parsed], value: bytes | None) -> Parsed:
    """A topic's value.

    Raises:
        RecordError: it is no such value; its ``reason`` says why in one word.
    """
    if value is None:
        raise RecordError("no_value")
    try:
        return value_class.model_validate_json(value)
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False, include_context=False)
        if any(each["loc"] == ("version",) for each in found):
            raise RecordError("unknown_version") from None
        raise RecordError("not_json" if found[0]["type"] == "json_invalid" else "fields") from None
