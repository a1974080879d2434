"""Files of the page, read once at start: `PAGE`, and the files that it links and imports."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from dataclasses import dataclass
from functools import cached_property
from importlib import resources

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from clientscope.errors import EnvironmentProblem

PAGE = "index.html"
MANIFEST = "vendor/manifest.json"

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}

_IN_PAGE = re.compile(r"""(?:src|href)="static/([^"]+)\"""")
_IN_SCRIPT = re.compile(r"""\b(?:import|export)\b[^;"'`()]*?\bfrom\s*["']([^"']+)["']|\bimport\(?\s*["']([^"']+)["']""")


@dataclass(frozen=True)
class Asset:
    """One file."""

    content: bytes
    media_type: str

    @cached_property
    def etag(self) -> str:
        """Weak, as the file may be sent compressed or not."""
        return f'W/"{hashlib.sha256(self.content).hexdigest()[:32]}"'


class Vendored(BaseModel):
    """A third party's file, as it is in an npm package.

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
    """All assets, by name: the page, and every file that it needs, directly or through another one.  No other file is served.

    Raises:
        EnvironmentProblem: one is missing, or a vendored one isn't what the manifest says, so the installation is broken.
    """
    folder = resources.files(package).joinpath("static")

    def read(name: str) -> bytes:
        try:
            return folder.joinpath(name).read_bytes()
        except OSError as error:
            raise EnvironmentProblem(f"the page's file {name} is missing", "install clientscope again") from error

    assets: dict[str, Asset] = {}
    waiting = [PAGE]
    while waiting:
        name = waiting.pop()
        if name not in assets:
            assets[name] = Asset(read(name), _TYPES[posixpath.splitext(name)[1]])
            waiting += needed(name, assets[name].content)
    for vendored in manifest(read(MANIFEST)):
        name = f"vendor/{vendored.file}"
        if name not in assets or hashlib.sha256(assets[name].content).hexdigest() != vendored.sha256:
            raise EnvironmentProblem(f"the page's file {name} is not the one of {MANIFEST}", "install clientscope again")
    return assets


def needed(name: str, content: bytes) -> list[str]:
    """The files that one needs: what the page links, and what a script imports."""
    if name == PAGE:
        return _IN_PAGE.findall(content.decode())
    if not name.endswith(".js"):
        return []
    imported = map("".join, _IN_SCRIPT.findall(content.decode()))
    return [posixpath.normpath(posixpath.join(posixpath.dirname(name), each)) for each in imported]


def manifest(content: bytes) -> list[Vendored]:
    """What is vendored.

    Raises:
        EnvironmentProblem: it isn't a manifest.
    """
    try:
        return TypeAdapter(list[Vendored]).validate_python(json.loads(content))
    except (ValueError, ValidationError) as error:
        raise EnvironmentProblem(f"the page's file {MANIFEST} can't be read", "install clientscope again") from error
