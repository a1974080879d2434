"""A setting of a client: as it was pushed or seen, as a rule points to it, and as it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal, cast, get_args

from pydantic import AfterValidator, Field

from clientscope.catalog import sensitive
from clientscope.catalog.sensitive_values import judge_value
from clientscope.catalog.value_states import ValueState
from clientscope.model.fields import Id32, Sha256, clean, sentence

TypeName = Literal["boolean", "string", "int", "short", "long", "double", "list", "class", "password"]
"""Kafka's ConfigDef.Type, in lower case, by its ordinals."""

SettingOrigin = Literal["set", "default", "observed", "pushed"]
"""By the client's user, by its library, seen by others who don't know which of both; or pushed, where a record doesn't say more."""

Reason = Literal[
    "key_prefix",
    "key_infix",
    "key_suffix",
    "type",
    "key_word",
    "value_shape",
    "looks_random",
    "certificate",
    "without_secret",
    "custom",
]
"""Names of `ValueState`, in lower case, but for the value that is there."""

Key = Annotated[str, Field(min_length=1)]

TYPE_NUMBERS: Mapping[TypeName | None, int] = {None: 1, **{name: number for number, name in enumerate(get_args(TypeName))}}
"""Ordinals of Kafka's ConfigDef.Type; where it isn't said, it is a string."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """Why a value isn't there.

    Attributes:
        length: the value's as pushed, in bytes of UTF-8.
        digest: HMAC-SHA-256 of the value under the record's ``digest_key_id``, in hexadecimal; None without a key.
    """

    reason: Reason
    length: Id32
    digest: Sha256 | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a client, as it may be written down.

    Attributes:
        key: the client's own name of it, or Kafka's.
        value: None where it was redacted, or isn't known.
        type: Kafka's ConfigDef.Type; None where it isn't said, which in a push is a string.
        note: what a rule says of it, in the catalogue's words alone; a push has none.
    """

    key: Key
    value: str | None = None
    origin: SettingOrigin = "set"
    type: TypeName | None = None
    redacted: Redaction | None = None
    note: str | None = None

    @property
    def digest(self) -> str | None:
        """A redacted value's; None for none."""
        return self.redacted.digest if self.redacted else None


def reason_name(state: ValueState) -> Reason:
    """Of a value that isn't there."""
    return cast(Reason, state.name.lower())


def shown_setting(setting: Setting) -> Setting:
    """A setting of a finding or a result without what must not be shown: other programs may write to their topics."""
    key, value, why, note = sensitive.shown_key(setting.key), setting.value, setting.redacted, setting.note
    if value is not None:
        state = sensitive.reason(setting.key, value, TYPE_NUMBERS[setting.type])
        if why is None and state is not ValueState.PRESENT:
            why = Redaction(reason_name(state), len(value.encode("utf-8", "replace")))
    if note is not None:
        note = sentence(note) if judge_value(note) is ValueState.PRESENT else None
    return replace(setting, key=clean(key), value=None if value is None or why else clean(value), redacted=why, note=note)


ShownSetting = Annotated[Setting, AfterValidator(shown_setting)]
