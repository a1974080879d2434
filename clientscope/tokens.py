"""Token files: each user's role, and the secret that identifies the user."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from clientscope.errors import SettingsError
from clientscope.secret_files import require_private

SHORTEST = 16
_LONGEST = 1_024
_MOST = 1_000
_MOST_BYTES = 1024 * 1024
_TOKEN = re.compile(r"[\x21-\x7e]+")
_HINT = "python3 -c 'import secrets; print(secrets.token_urlsafe(32))' makes one"


@dataclass(frozen=True)
class NamedToken:
    """A token, and what its holder is called; empty where the file doesn't say."""

    name: str
    secret: str = field(repr=False)


Token = TypeVar("Token", bound=NamedToken)


def read(path: Path, setting: str) -> list[NamedToken]:
    """The tokens of a file: in each line a name, a space and a token, or a token alone; ``#`` begins a comment.

    Args:
        setting: the file's own setting, for an error.

    Raises:
        SettingsError: every user may read it, a line is no token, or it has no tokens.
    """
    require_private(path, setting, _HINT)
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    lines = content.decode("utf-8", "replace").splitlines() if len(content) <= _MOST_BYTES else []
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        *name, secret = line.split()
        if len(name) > 1 or not SHORTEST <= len(secret) <= _LONGEST or not _TOKEN.fullmatch(secret):
            raise SettingsError(
                f"{setting} {path}: line {number} is no token of {SHORTEST} characters or more, with or without a name before it",
                _HINT,
            )
        found.append(NamedToken(name[0] if name else "", secret))
    if not found or len(found) > _MOST:
        raise SettingsError(f"{setting} {path}: {len(found) or 'no'} tokens", _HINT)
    return found


def bearer(authorization: str) -> str:
    """The token of an Authorization header (RFC 6750); empty where it has none."""
    scheme, _, secret = authorization.partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def matching(secret: str, tokens: Iterable[Token]) -> Token | None:
    """The token that has this secret; all are compared, so that time says nothing."""
    given, found = secret.encode("utf-8", "replace"), None
    for token in tokens:
        if hmac.compare_digest(token.secret.encode(), given):
            found = token
    return found
