"""Taking values out of a push before it leaves memory."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clientscope.catalog.sensitive import reason
from clientscope.errors import SettingsError
from clientscope.policy.interface import ClientConfig
from clientscope.records.codec import ClientConfigRecord, ValueState

_SHORTEST_KEY = 32


@dataclass(frozen=True)
class DigestKey:
    """The installation's HMAC key: one leaked secret is recognised in many places, and stored in none.

    Attributes:
        key_id: goes with each digest, so that digests of different keys are not compared.
    """

    secret: bytes = field(repr=False)

    @property
    def key_id(self) -> str:
        return hashlib.sha256(b"clientscope digest key id\0" + self.secret).hexdigest()[:8]

    def digest(self, value: str) -> bytes:
        """HMAC-SHA-256 of a value's UTF-8."""
        return hmac.digest(self.secret, value.encode(), "sha256")

    @classmethod
    def read(cls, path: Path) -> DigestKey:
        """The key in a file, without white space around it.

        Raises:
            SettingsError: the file can't be read, or holds fewer than 32 bytes.
        """
        try:
            secret = path.read_bytes().strip()
        except OSError as error:
            raise SettingsError(f"digest_key_file {path}: {error.strerror}", f"make one: openssl rand -hex 32 > {path}") from None
        if len(secret) < _SHORTEST_KEY:
            raise SettingsError(f"digest_key_file {path}: {len(secret)} bytes, needs {_SHORTEST_KEY}", f"openssl rand -hex 32 > {path}")
        return cls(secret)


def redact(config: ClientConfig, key: DigestKey | None) -> Any:
    """A pushed setting as it may be written down: the value, or the reason why it isn't there."""
    state = reason(config.key, config.value, config.type)
    hidden = state is not ValueState.PRESENT
    return ClientConfigRecord.Config(
        config_key=config.key,
        config_value=None if hidden else config.value,
        value_state=state,
        config_type=config.type,
        is_default=config.is_default,
        value_digest=key.digest(config.value) if hidden and key else None,
        value_length=len(config.value.encode()),
    )
