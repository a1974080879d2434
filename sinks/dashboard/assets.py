"""The page's files, read once at start."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib import resources

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from clientscope.errors import EnvironmentProblem

PAGE = "index.html"
MANIFEST = "vendor/manifest.json"

_SCRIPT = "text/javascript; charset=utf-8"
_STYLE = "text/css; charset=utf-8"

ASSETS = {
    PAGE: "text/html; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "app.js": _SCRIPT,
    "core/api.js": _SCRIPT,
    "core/feed.js": _SCRIPT,
    "core/format.js": _SCRIPT,
    "core/held.js": _SCRIPT,
    "core/html.js": _SCRIPT,
    "core/keys.js": _SCRIPT,
    "core/listing.js": _SCRIPT,
    "core/route.js": _SCRIPT,
    "core/settings.js": _SCRIPT,
    "core/signal.js": _SCRIPT,
    "parts/bits.js": _SCRIPT,
    "parts/chart.js": _SCRIPT,
    "parts/facets.js": _SCRIPT,
    "parts/finding.js": _SCRIPT,
    "parts/frame.js": _SCRIPT,
    "parts/health.js": _SCRIPT,
    "parts/past.js": _SCRIPT,
    "parts/search.js": _SCRIPT,
    "parts/states.js": _SCRIPT,
    "parts/table.js": _SCRIPT,
    "parts/verdict.js": _SCRIPT,
    "styles/base.css": _STYLE,
    "styles/parts.css": _STYLE,
    "styles/views.css": _STYLE,
    "vendor/htm.js": _SCRIPT,
    "vendor/hooks.js": _SCRIPT,
    "vendor/preact.js": _SCRIPT,
    "vendor/uPlot.css": _STYLE,
    "vendor/uPlot.js": _SCRIPT,
    "views/brokers.js": _SCRIPT,
    "views/client.js": _SCRIPT,
    "views/clients.js": _SCRIPT,
    "views/finding.js": _SCRIPT,
    "views/findings.js": _SCRIPT,
    "views/history.js": _SCRIPT,
    "views/overview.js": _SCRIPT,
}
"""Every file that the page needs, with its type: what isn't listed isn't served."""


@dataclass(frozen=True)
class Asset:
    """One file."""

    content: bytes
    media_type: str


class Vendored(BaseModel):
    """A file of somebody else's, as it lies in an npm package.

    Attributes:
        file: its name here, in ``vendor/``.
        path: its name in the package.
        licence: by its SPDX name; ``licence_file`` has its text.
        sha256: of the file here.
        replaced: what stands here for what stands there, as browsers take no bare names in imports.
        sha256_in_package: of the file there, where something is replaced.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    package: str
    version: str
    path: str
    licence: str
    licence_file: str
    sha256: str
    replaced: dict[str, str] = {}
    sha256_in_package: str | None = None


def load(package: str = "sinks.dashboard") -> dict[str, Asset]:
    """All assets, by name.

    Raises:
        EnvironmentProblem: one is missing, or a vendored one isn't what the manifest says, so the installation is broken.
    """
    folder = resources.files(package).joinpath("static")

    def read(name: str) -> bytes:
        try:
            return folder.joinpath(name).read_bytes()
        except OSError as error:
            raise EnvironmentProblem(f"the page's file {name} is missing", "install clientscope again") from error

    assets = {name: Asset(read(name), media_type) for name, media_type in ASSETS.items()}
    for vendored in manifest(read(MANIFEST)):
        name = f"vendor/{vendored.file}"
        if name not in assets or hashlib.sha256(assets[name].content).hexdigest() != vendored.sha256:
            raise EnvironmentProblem(f"the page's file {name} is not the one of {MANIFEST}", "install clientscope again")
    return assets


def manifest(content: bytes) -> list[Vendored]:
    """What is vendored.

    Raises:
        EnvironmentProblem: it isn't a manifest.
    """
    try:
        return TypeAdapter(list[Vendored]).validate_python(json.loads(content))
    except (ValueError, ValidationError) as error:
        raise EnvironmentProblem(f"the page's file {MANIFEST} can't be read", "install clientscope again") from error
