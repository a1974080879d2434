"""Files of the page, read once at start: all of its folder that a browser loads."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from clientscope.errors import EnvironmentProblem

PAGE = "index.html"
STATIC = Path(__file__).parents[1] / "static"

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Asset:
    """One file."""

    content: bytes
    media_type: str

    @cached_property
    def etag(self) -> str:
        """Weak, as the file may be sent compressed or not."""
        return f'W/"{hashlib.sha256(self.content).hexdigest()[:32]}"'


def load(folder: Path = STATIC) -> dict[str, Asset]:
    """All assets, by name.

    Raises:
        EnvironmentProblem: the page is missing, so the installation is broken.
    """
    files = (path for path in folder.rglob("*") if path.suffix in _TYPES)
    assets = {path.relative_to(folder).as_posix(): Asset(path.read_bytes(), _TYPES[path.suffix]) for path in files}
    if PAGE not in assets:
        raise EnvironmentProblem(f"the page's file {PAGE} is missing", "install clientscope again")
    return assets
