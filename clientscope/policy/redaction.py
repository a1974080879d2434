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
from clientscope.secret_files import require_private

_SHORTEST_KEY = 32


@dataclass(frozen=True)
class DigestKey:
    """The installation's HMAC key: one leaked secret is recognised in many places, and stored in none.

    Attributes:
        key_id: goes with each digest, so that digests of different keys are not compared.
        earlier: keys that this one has replaced, whose digests are still about; see docs/keys.md.
    """

    secret: bytes = field(repr=False)
    earlier: tuple[DigestKey, ...] = ()

    @property
    def key_id(self) -> str:
        return hashlib.sha256(b"clientscope digest key id\0" + self.secret).hexdigest()[:8]

    def digest(self, value: str) -> bytes:
        """HMAC-SHA-256 of a value's UTF-8."""
        return hmac.digest(self.secret, value.encode(), "sha256")

    def with_id(self, key_id: str | None) -> DigestKey | None:
        """This key, or that of the earlier ones, which has this id; None where none has."""
        return next((key for key in (self, *self.earlier) if key.key_id == key_id), None)

    @classmethod
    def read(cls, path: Path) -> DigestKey:
        """The keys in a file, one a line in printable ASCII: the first signs, the others are the earlier ones.

        Raises:
            SettingsError: the file can't be read, or everybody can; a key has fewer than 32 characters, or stands there twice.
        """
        make = f"(umask 077; openssl rand -hex 32 > {path})"
        require_private(path, "digest_key_file", f"make one: {make}")
        text = path.read_bytes()
        secrets = [line.strip() for line in text.splitlines() if line.strip()]
        if not secrets:
            raise SettingsError(f"digest_key_file {path}: it is empty", f"make one: {make}")
        for number, secret in enumerate(secrets, 1):
            if not secret.isascii() or not secret.decode("ascii").isprintable():
                raise SettingsError(f"digest_key_file {path}: key {number} isn't printable ASCII", f"make one: {make}")
            if len(secret) < _SHORTEST_KEY:
                raise SettingsError(f"digest_key_file {path}: key {number} has {len(secret)} bytes, needs {_SHORTEST_KEY}", make)
            if secret in secrets[: number - 1]:
                raise SettingsError(f"digest_key_file {path}: key {number} stands there twice", "the first one signs; take the other out")
        return cls(secrets[0], tuple(cls(secret) for secret in secrets[1:]))


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
