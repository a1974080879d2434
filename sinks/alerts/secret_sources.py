"""Sources of secrets: ``file:PATH`` or ``env:NAME``. Errors name the source, never its content."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from clientscope.errors import SettingsError
from clientscope.secret_files import require_private

_FILE, _ENV = "file:", "env:"
_HINT = "file:/path/of/a/file that others can't read, or env:NAME_OF_A_VARIABLE"


def is_source(text: str) -> bool:
    """Whether a setting names the source of its value rather than the value.  ``file://`` begins an address, not a source."""
    return text.startswith(_ENV) or (text.startswith(_FILE) and not text.startswith("file://"))


def read(source: str, setting: str, environ: Mapping[str, str] | None = None) -> str:
    """The secret, one line.

    Args:
        setting: what it is for, for an error.

    Raises:
        SettingsError: the source has no secret, or others can read the file.
    """
    if not is_source(source):
        raise SettingsError(f"{setting}: a secret must not be written here itself", _HINT)
    kind, _, name = source.partition(":")
    if kind + ":" == _ENV:
        if name.startswith("CLIENTSCOPE_"):
            raise SettingsError(f"{setting}: {name} looks like one of clientscope's own settings", "give the variable another name")
        value = (os.environ if environ is None else environ).get(name, "")
        if not value:
            raise SettingsError(f"{setting}: the environment has no {name}", "set it, or name a file: file:/path")
        return _one_line(value, f"{setting}: {name}")
    path = Path(name)
    require_private(path, setting, _HINT)
    try:
        return _one_line(path.read_text("utf-8").rstrip("\r\n"), f"{setting}: {path}")
    except UnicodeDecodeError:
        raise SettingsError(f"{setting}: {path} isn't UTF-8") from None


def _one_line(text: str, where: str) -> str:
    if not text or any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise SettingsError(f"{where} is empty, or has more than one line", "it must hold the secret and nothing else")
    return text
