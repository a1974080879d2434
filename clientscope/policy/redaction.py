"""Redaction of a push before it leaves memory, in the gateway; and of records, which others may have written, in the job."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args, overload

from clientscope.catalog.known_keys import is_custom
from clientscope.catalog.sensitive import Tier, is_credential, reason, tier, under_hidden_key
from clientscope.catalog.sensitive_names import FIELDS, LEAKED_AS, hidden_name, judge_key_text, judge_name
from clientscope.catalog.value_states import ValueState
from clientscope.digest import DigestKey
from clientscope.model.push import Push
from clientscope.model.setting import TYPE_NUMBERS, Redaction, Setting, TypeName, reason_name
from clientscope.policy.interface import ClientConfig

_TYPES: tuple[TypeName, ...] = get_args(TypeName)
_SETTINGS_REMEMBERED = 65_536
_LONGEST_SETTING = 1_024
"""Characters of a setting that is remembered."""
_BY_KEY_PART = frozenset((ValueState.KEY_PREFIX, ValueState.KEY_INFIX))
_PLAIN = re.compile(r"(?i:true|false)|-?[0-9]{1,9}(?:\.[0-9]{1,9})?")

Record = TypeVar("Record")
"""Any dataclass with fields of `FIELDS`."""


class ClientNames:
    """What clients call themselves, as it may be written down: one place for all that leaves the gateway. From any thread.

    Attributes:
        key: the installation's key of digests, which may be replaced; None without one.
    """

    def __init__(self, key: DigestKey | None = None) -> None:
        """
        Args:
            key: makes placeholders that tell one hidden name from another; without it all are alike.
        """
        self.key = key

    @classmethod
    def of(cls, digest_key_file: Path | None) -> ClientNames:
        """The names' judge for an installation.

        Raises:
            SettingsError: see `DigestKey.read`.
        """
        return cls(DigestKey.read(digest_key_file) if digest_key_file else None)

    @overload
    def __call__(self, field: str, name: str) -> str: ...
    @overload
    def __call__(self, field: str, name: str | None) -> str | None: ...
    def __call__(self, field: str, name: str | None) -> str | None:
        """The name, or its placeholder.

        Args:
            field: of a record, as ``sensitive_names.FIELDS`` has it.
        """
        return name if not name or judge_name(name, FIELDS[field]) is ValueState.PRESENT else hidden_name(name, self.key)

    def leaks(self, **names: str | None) -> tuple[Setting, ...]:
        """Those of the names that hold a credential, each as a pushed setting would be recorded.

        Args:
            names: by their field of a record, as `LEAKED_AS` has them.
        """
        found = ((LEAKED_AS[field], name) for field, name in names.items() if name and judge_name(name, False) is ValueState.VALUE_SHAPE)
        return tuple(Setting(key, redacted=_redaction(ValueState.VALUE_SHAPE, name, name, self.key)) for key, name in found)

    def of_record(self, record: Record) -> Record:
        """A record that was read, without a name that may not be shown: others may write to the topic too. Its settings stay."""
        changed: dict[str, Any] = {
            field: hidden_name(name, self.key)
            for field, random_too in _fields_of(type(record))  # type: ignore[arg-type]  # a class is hashable
            if (name := getattr(record, field)) and judge_name(name, random_too) is not ValueState.PRESENT
        }
        if counts := getattr(record, "counts", ()):
            judged = tuple(map(self.of_record, counts))
            if any(new is not old for new, old in zip(judged, counts, strict=True)):
                changed["counts"] = judged
        return replace(record, **changed) if changed else record  # type: ignore[type-var]  # a dataclass


@cache
def _fields_of(record_class: type[Any]) -> list[tuple[str, bool]]:
    """Those of `FIELDS` that records of a class have."""
    there = {each.name for each in fields(record_class)}
    return [each for each in FIELDS.items() if each[0] in there]


def redact(config: ClientConfig, key: DigestKey | None, place: int = 1) -> Setting:
    """A pushed setting as it may be written down: the value, or the reason why it isn't there."""
    return judged(Setting(config.key, config.value, "default" if config.is_default else "set", _TYPES[config.type]), key, place)


def type_name(of: int) -> TypeName:
    """Kafka's ConfigDef.Type as a record has it, by its ordinal."""
    return _TYPES[of]


class Left(NamedTuple):
    """What stays of settings that come from a file and stay on its machine.

    Attributes:
        reasons: for which nothing is redacted.
        keys: how keys end that KIP-1324 excludes by their names and whose values are no secrets, unless they look so.
    """

    reasons: frozenset[ValueState]
    keys: tuple[str, ...]

    def leaves(self, state: ValueState, key: str, value: str, config_type: int) -> bool:
        """Whether a value stays; a truth value and a number do, too, of a setting that libraries know, and that isn't a credential."""
        if state not in _BY_KEY_PART:
            return state in self.reasons
        is_plain = _PLAIN.fullmatch(value) is not None and not is_custom(key) and not is_credential(key, config_type)
        return key.endswith(self.keys) or is_plain


def judged(setting: Setting, key: DigestKey | None, place: int, left: Left | None = None) -> Setting:
    """A setting as it may be written down, whoever has judged it before.

    Where the key is the secret, the digest is the key's: one leak is one secret, and those of two clients with the same value are two.

    Args:
        place: of the setting in its push, from 1; distinguishes keys that are redacted without a digest.
    """
    value, said, of_type = setting.value or "", setting.redacted, TYPE_NUMBERS[setting.type]
    if said is not None:
        state, length = ValueState[said.reason.upper()], said.length
    else:
        state, length = reason(setting.key, value, of_type), len(value.encode("utf-8", "replace"))
        if left is not None and left.leaves(state, setting.key, value, of_type):
            state = ValueState.PRESENT
    key_state = judge_key_text(setting.key)
    shown = key_state is ValueState.PRESENT
    if not shown:
        state = under_hidden_key(key_state, state, setting.key, of_type, length)
    if state is ValueState.PRESENT:
        return setting if setting.note is None else replace(setting, note=None)  # somebody else's words
    if said is None:
        said = _redaction(state, value, value if shown else setting.key, key if setting.value is not None or not shown else None)
    return Setting(
        key=setting.key if shown else hidden_name(setting.key, key, str(place)),
        origin=setting.origin,
        type=setting.type,
        redacted=replace(said, reason=reason_name(state)),
    )


class JudgedRecord(NamedTuple):
    """A record of ``clientscope.configs`` as it may be written down, whoever wrote it.

    Attributes:
        record: its names are judged; its settings are as they were.
        settings: those instead, in the order of `Push.listed`; None where all may stay as they are.
        written: keys, as they may be shown, of the settings in which the record itself had a secret.
    """

    record: Push
    settings: list[Setting] | None = None
    written: tuple[str, ...] = ()


def judged_record(record: Push, names: ClientNames, left: Left | None = None) -> JudgedRecord:
    """Judges all that is in a record again, by the one judge.

    Digests are under the record's own key where we have it, and there is none where we don't: so those of one record are all under one.
    """
    named = names.of_record(record)
    if left is None and not record.repeated and _stays(record):
        return JudgedRecord(named)
    key = names.key
    own = key
    if key is not None and record.digest_key_id is not None:
        own = next((each for each in (key, *key.earlier) if each.key_id == record.digest_key_id), None)
    before = record.listed()
    settings = [judged(each, own, place, left) for place, each in enumerate(before, 1)]
    raw = [new for old, new in zip(before, settings, strict=True) if old.redacted is None and new.redacted is not None]
    if raw and own is not None and record.digest_key_id is None:
        named = replace(named, digest_key_id=own.key_id)
    return JudgedRecord(named, settings, tuple(each.key for each in raw if is_secret(each)))


def _stays(record: Push) -> bool:
    """Whether all settings may stay as they are; nearly all records come from gateways, which have judged them.

    A fleet's clients say the same again and again, so what was judged is remembered; of numbers too short for a secret one stands for all.
    """
    of_type, redacted = record.types.get, record.redacted
    for key, value in record.settings.items():
        if key in redacted:
            if value is not None or judge_key_text(key) is not ValueState.PRESENT:
                return False
            continue
        text = value or ""
        if len(text) <= _SHORT_NUMBER and text.isdecimal() and text.isascii():
            text = "1"
        judge = _remembered if len(key) + len(text) <= _LONGEST_SETTING else _remembered.__wrapped__
        if not judge(key, text, of_type(key, "string")):
            return False
    return True


_SHORT_NUMBER = 9


@lru_cache(maxsize=_SETTINGS_REMEMBERED)
def _remembered(key: str, value: str, of_type: TypeName) -> bool:
    return reason(key, value, TYPE_NUMBERS[of_type]) is ValueState.PRESENT  # also where its key may not be shown


def tier_of(setting: Setting) -> Tier:
    """How bad it is that a setting was pushed whose value isn't there."""
    assert setting.redacted is not None
    return tier(ValueState[setting.redacted.reason.upper()], setting.key, TYPE_NUMBERS[setting.type], setting.redacted.length)


def is_secret(setting: Setting) -> bool:
    """Whether a pushed setting is a secret, or may be one."""
    return setting.redacted is not None and tier_of(setting) in (Tier.CREDENTIAL, Tier.DOUBTFUL)


def _redaction(state: ValueState, value: str, secret: str, key: DigestKey | None) -> Redaction:
    return Redaction(reason_name(state), len(value.encode("utf-8", "replace")), key.digest(secret).hex() if key else None)
