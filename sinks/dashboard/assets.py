"""The page's files, read once at start."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from clientscope.errors import EnvironmentProblem

PAGE = "index.html"

ASSETS = {
    PAGE: "text/html; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "app.js": "text/javascript; charset=utf-8",
    "dom.js": "text/javascript; charset=utf-8",
    "findings.js": "text/javascript; charset=utf-8",
    "settings.js": "text/javascript; charset=utf-8",
    "feed.js": "text/javascript; charset=utf-8",
    "format.js": "text/javascript; charset=utf-8",
    "clients.js": "text/javascript; charset=utf-8",
    "overview.js": "text/javascript; charset=utf-8",
    "quality.js": "text/javascript; charset=utf-8",
    "results.js": "text/javascript; charset=utf-8",
}
"""Every file that the page needs, with its type: what isn't listed isn't served."""


@dataclass(frozen=True)
class Asset:
    """One file."""

    content: bytes
    media_type: str


def load(package: str = "sinks.dashboard") -> dict[str, Asset]:
    """All assets, by name.

    Raises:
        EnvironmentProblem: one is missing, so the installation is broken.
    """
    folder = resources.files(package).joinpath("static")
    assets = {}
    for name, media_type in ASSETS.items():
        try:
            assets[name] = Asset(folder.joinpath(name).read_bytes(), media_type)
        except OSError as error:
            raise EnvironmentProblem(f"the page's file {name} is missing", "install clientscope again") from error
    return assets
