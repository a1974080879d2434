"""Redaction of a push before it leaves memory."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, overload

from clientscope.catalog.configs import Type
from clientscope.catalog.sensitive import reason
from clientscope.catalog.sensitive_names import FIELDS, LEAKED_AS, LONGEST_REMEMBERED, hidden_name, judge_key_text, judge_name
from clientscope.digest import DigestKey
from clientscope.policy.interface import ClientConfig
from clientscope.records.codec import ClientConfigRecord
from clientscope.records.layouts import ValueState

_NAMES_REMEMBERED = 4096


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

    def leaks(self, **names: str | None) -> tuple[Any, ...]:
        """Those of the names that hold a credential, each as a pushed setting would be recorded.

        Args:
            names: by their field of a record, as `LEAKED_AS` has them.
        """
        found = ((LEAKED_AS[field], name) for field, name in names.items() if name and judge_name(name, False) is ValueState.VALUE_SHAPE)
        return tuple(
            ClientConfigRecord.Config(
                config_key=key,
                config_value=None,
                value_state=ValueState.VALUE_SHAPE,
                config_type=int(Type.STRING),
                is_default=False,
                value_digest=self.key.digest(name) if self.key else None,
                value_length=len(name.encode("utf-8", "replace")),
            )
            for key, name in found
        )

    def of_record(self, record: Any) -> None:
        """Judges every name in a decoded record, in place."""
        for part in (record, *(getattr(record, "counts", None) or ())):
            for attribute in FIELDS:
                if name := getattr(part, attribute, None):
                    setattr(part, attribute, self(attribute, name))

    def _judged(self, field: str, name: str) -> str:
        return name if judge_name(name, FIELDS[field]) is ValueState.PRESENT else hidden_name(name, self.key)


def redact(config: ClientConfig, key: DigestKey | None, place: int = 1) -> Any:
    """A pushed setting as it may be written down: the value, or the reason why it isn't there.

    Where the key is the secret, the digest is the key's: one leak is one secret, and those of two clients with the same value are two.

    Args:
        place: of the setting in its push, from 1; distinguishes keys that are redacted without a digest.
    """
    state = reason(config.key, config.value, config.type)
    hidden = state is not ValueState.PRESENT
    shown = judge_key_text(config.key) is ValueState.PRESENT
    return ClientConfigRecord.Config(
        config_key=config.key if shown else hidden_name(config.key, key, str(place)),
        config_value=None if hidden else config.value,
        value_state=state,
        config_type=config.type,
        is_default=config.is_default,
        value_digest=key.digest(config.value if shown else config.key) if hidden and key else None,
        value_length=len(config.value.encode()),
    )
