"""Bytes of a file with a client's settings, bounded, and the formats that such files have."""

from __future__ import annotations

from pathlib import Path

from clientscope.errors import SettingsError

MAX_BYTES = 1024 * 1024
"""A larger file is no client's configuration."""

FORMATS = {".properties": "properties", ".json": "json", ".yaml": "yaml", ".yml": "yaml"}
"""What a file is by its suffix."""


def read_bytes(path: Path) -> bytes:
    """The file as it is.

    Raises:
        SettingsError: it can't be read, or is too large.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}", "--properties names the file with the client's settings") from None
    if len(content) > MAX_BYTES:
        raise SettingsError(f"{path} is larger than {MAX_BYTES} bytes", "expected: a client's settings")
    return content
