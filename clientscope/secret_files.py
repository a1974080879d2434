"""Reading of files that hold a secret; refused if every user of the machine may read them."""

from __future__ import annotations

import stat
from pathlib import Path

from clientscope.errors import SettingsError


def require_private(path: Path, setting: str, hint: str | None = None) -> None:
    """Checks that a file is there and that only its owner, and perhaps a group, may use it.

    Args:
        setting: its setting's own name, for an error.
        hint: what to do where it is missing.

    Raises:
        SettingsError: it is missing, can't be read, or every user may read, write or execute it.
    """
    try:
        with path.open("rb"):
            mode = path.stat().st_mode
    except OSError as error:
        raise SettingsError(f"{setting} {path}: {error.strerror}", hint) from None
    if mode & stat.S_IRWXO:
        raise SettingsError(f"{setting} {path}: every user of this machine may use it ({stat.filemode(mode)})", f"chmod 600 {path}")
