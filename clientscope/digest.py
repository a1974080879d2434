"""Digests: stable identifiers of texts, and keyed digests of values that may not be stored."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from clientscope.errors import SettingsError
from clientscope.secret_files import require_private

_SHORTEST_KEY = 32

VARIABLE = "CLIENTSCOPE_DIGEST_KEY"
"""Environment variable with what a key file would hold, for machines of a cluster that can't have the file."""


def identifier(kind: str, *parts: str) -> str:
    """The same for the same texts, 128 bits of SHA-256: 32 hexadecimal digits.

    Args:
        kind: what is identified, so that identifiers of two kinds differ.
        parts: any texts, also with lone surrogates; each goes in with its length, so ("a", "bc") differs from ("ab", "c").
    """
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    framed = b"".join(b"%d:%s" % (len(part), part) for part in encoded)
    return hashlib.sha256(f"clientscope {kind} 1\0".encode() + framed).hexdigest()[:32]


@dataclass(frozen=True)
class DigestKey:
    """The installation's HMAC key: one leaked secret is recognised in many places, and stored in none.

    It doesn't travel: pickled, as Spark pickles what its workers run, it is the place where it was found, and each machine reads it there.

    Attributes:
        key_id: goes with each digest, so that digests of different keys are not compared.
        earlier: keys that this one has replaced, whose digests are still about; see docs/keys.md.
    """

    secret: bytes = field(repr=False)
    earlier: tuple[DigestKey, ...] = ()
    _file: Path | None = field(default=None, repr=False, compare=False)

    def __reduce__(self) -> tuple[Callable[[Path, str], DigestKey], tuple[Path, str]]:
        if self._file is None:
            raise TypeError("a digest key that no file holds can't be pickled")
        return _on_this_machine, (self._file, self.key_id)

    @property
    def key_id(self) -> str:
        return hashlib.sha256(b"clientscope digest key id\0" + self.secret).hexdigest()[:8]

    def digest(self, value: str) -> bytes:
        """HMAC-SHA-256 of a value's UTF-8."""
        return self.digest_of(value.encode())

    def digest_of(self, data: bytes | bytearray | memoryview) -> bytes:
        """HMAC-SHA-256 of bytes, which are not copied."""
        return hmac.digest(self.secret, data, "sha256")

    @classmethod
    def read(cls, path: Path) -> DigestKey:
        """The keys in a file, one a line in printable ASCII: the first signs, the others are the earlier ones.

        Raises:
            SettingsError: the file can't be read, or every user can read it; a key has fewer than 32 characters, or is there twice.
        """
        make = f"(umask 077; openssl rand -hex 32 > {path})"
        require_private(path, "digest_key_file", f"make one: {make}")
        return cls._parsed(path.read_bytes(), f"digest_key_file {path}", make, path.absolute())

    @classmethod
    def _parsed(cls, text: bytes, where: str, make: str, path: Path) -> DigestKey:
        secrets = [line.strip() for line in text.splitlines() if line.strip()]
        if not secrets:
            raise SettingsError(f"{where}: it is empty", f"make one: {make}")
        for number, secret in enumerate(secrets, 1):
            if not secret.isascii() or not secret.decode("ascii").isprintable():
                raise SettingsError(f"{where}: key {number} isn't printable ASCII", f"make one: {make}")
            if len(secret) < _SHORTEST_KEY:
                raise SettingsError(f"{where}: key {number} has {len(secret)} bytes, needs {_SHORTEST_KEY}", make)
            if secret in secrets[: number - 1]:
                raise SettingsError(f"{where}: key {number} is there twice", "the first one signs; take the other out")
        return cls(secrets[0], tuple(cls(secret) for secret in secrets[1:]), path)


@lru_cache(maxsize=4)  # for each task that a worker runs
def _on_this_machine(path: Path, key_id: str) -> DigestKey:
    """The key that another process of the job has, from this machine's own file or environment.

    Raises:
        SettingsError: it isn't there, or has another key.
    """
    if text := os.environ.get(VARIABLE):
        found, where = DigestKey._parsed(text.encode(), VARIABLE, "set it to what the driver's key file holds", path), VARIABLE
    else:
        found, where = DigestKey.read(path), f"digest_key_file {path}"
    keys = [found, *found.earlier]
    ids = [key.key_id for key in keys]
    if key_id not in ids:
        raise SettingsError(f"{where}: key {ids[0]} on this machine, and {key_id} where the job started", "give each machine the same")
    first, *earlier = keys[ids.index(key_id) :]  # a key that was put before it since then is for the job's next start
    return DigestKey(first.secret, tuple(earlier), path)
