"""Files with a secret."""

from __future__ import annotations

from pathlib import Path


def private(path: Path, text: str, mode: int = 0o600) -> Path:
    """The path of one that has this text; its owner alone may read it, or whom ``mode`` says."""
    path.write_text(text)
    path.chmod(mode)
    return path
