"""Redaction of a push before it leaves memory."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_args, overload

from clientscope.catalog.sensitive import reason
from clientscope.catalog.sensitive_names import FIELDS, LEAKED_AS, LONGEST_REMEMBERED, hidden_name, judge_key_text, judge_name
from clientscope.digest import DigestKey
from clientscope.policy.interface import ClientConfig
from clientscope.records.config_record import ClientConfigRecord, RecordedSetting, Redaction, TypeName, reason_name
from clientscope.records.connection_record import ClientConnectionRecord, SeriesCount
from clientscope.records.enums import ValueState

_NAMES_REMEMBERED = 4096
_TYPES: tuple[TypeName, ...] = get_args(TypeName)

Record = TypeVar("Record", ClientConfigRecord, ClientConnectionRecord, SeriesCount)


class ClientNames:
    """What clients call themselves, as it may be written down: one place for all that leaves the gateway.

    Few names come again and again, so the last some thousand are remembered. From any thread.

    Attributes:
        key: the installation's key of digests; None without one.
    """

    def __init__(self, key: DigestKey | None = None) -> None:
        """
        Args:
            key: makes placeholders that tell one hidden name from another; without it all are alike.
        """
        self.key = key
        self._remembered = lru_cache(maxsize=_NAMES_REMEMBERED)(self._judged)

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
        if not name:
            return name
        return self._remembered(field, name) if len(name) <= LONGEST_REMEMBERED else self._judged(field, name)

    def leaks(self, **names: str | None) -> tuple[RecordedSetting, ...]:
        """Those of the names that hold a credential, each as a pushed setting would be recorded.

        Args:
            names: by their field of a record, as `LEAKED_AS` has them.
        """
        found = ((LEAKED_AS[field], name) for field, name in names.items() if name and judge_name(name, False) is ValueState.VALUE_SHAPE)
        return tuple(RecordedSetting(key, None, redacted=_redaction(ValueState.VALUE_SHAPE, name, name, self.key)) for key, name in found)

    def of_record(self, record: Record) -> Record:
        """A record that was read, without a name that may not be shown: others may write to the topic too. Its settings stay."""
        changed: dict[str, Any] = {
            field: shown for field in FIELDS if (name := getattr(record, field, None)) and (shown := self(field, name)) != name
        }
        if counts := getattr(record, "counts", ()):
            judged = tuple(map(self.of_record, counts))
            if any(new is not old for new, old in zip(judged, counts, strict=True)):
                changed["counts"] = judged
        return replace(record, **changed) if changed else record

    def _judged(self, field: str, name: str) -> str:
        return name if judge_name(name, FIELDS[field]) is ValueState.PRESENT else hidden_name(name, self.key)


def redact(config: ClientConfig, key: DigestKey | None, place: int = 1) -> RecordedSetting:
    """A pushed setting as it may be written down: the value, or the reason why it isn't there.

    Where the key is the secret, the digest is the key's: one leak is one secret, and those of two clients with the same value are two.

    Args:
        place: of the setting in its push, from 1; distinguishes keys that are redacted without a digest.
    """
    state = reason(config.key, config.value, config.type)
    hidden = state is not ValueState.PRESENT
    shown = judge_key_text(config.key) is ValueState.PRESENT
    return RecordedSetting(
        key=config.key if shown else hidden_name(config.key, key, str(place)),
        value=None if hidden else config.value,
        type=_TYPES[config.type],
        default=config.is_default,
        redacted=_redaction(state, config.value, config.value if shown else config.key, key) if hidden else None,
    )


def _redaction(state: ValueState, value: str, secret: str, key: DigestKey | None) -> Redaction:
    return Redaction(reason_name(state), len(value.encode("utf-8", "replace")), key.digest(secret).hex() if key else None)
