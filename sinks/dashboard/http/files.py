"""Files that are served: the page's own, read once at start, and Data Docs that the streaming job wrote."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fastapi import APIRouter, HTTPException, Response

from clientscope.api.common import model
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


CONTENT_SECURITY_POLICY = "; ".join(
    (
        "sandbox",  # an origin of its own, no scripts, no forms, no windows
        "default-src 'none'",
        "style-src 'unsafe-inline'",  # the style sheets within a page
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

_INDEX = "index.html"
_NAME = re.compile(r"[A-Za-z0-9]+([.-][A-Za-z0-9]+)*\.html")
"""No path: what lies outside of the folder has no name here."""


@model
class DataDocsPages:
    """Whether there are Data Docs."""

    built_ms: int | None
    """When they were last written, in ms since the epoch; null where there are none."""


def data_docs_routes(folder: Path) -> APIRouter:
    """The pages, and whether there are any."""
    router = APIRouter()

    @router.get("/api/v1/data-docs", tags=["v1"])
    def data_docs() -> DataDocsPages:
        """What was found of the decoded records' quality is at ``/data-docs/``, once there is some."""
        try:
            return DataDocsPages(built_ms=int((folder / _INDEX).stat().st_mtime * 1000))
        except OSError:
            return DataDocsPages(built_ms=None)

    @router.get("/data-docs/", include_in_schema=False)
    @router.get("/data-docs/{name}", include_in_schema=False)
    def page(name: str = _INDEX) -> Response:
        if not _NAME.fullmatch(name):
            raise HTTPException(404)
        try:
            content = (folder / name).read_bytes()
        except OSError:
            raise HTTPException(404) from None
        headers = {"content-type": "text/html; charset=utf-8", "content-security-policy": CONTENT_SECURITY_POLICY}
        return Response(content, headers=headers)

    return router
