"""Data Docs that the streaming job wrote: each is isolated from the page, from scripts and from the network."""

from __future__ import annotations

import re
from pathlib import Path

from fastapi import APIRouter, HTTPException, Response
from pydantic import BaseModel, Field

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


class DataDocsPages(BaseModel):
    """Whether there are Data Docs."""

    built_ms: int | None = Field(description="When they were last written, in ms since the epoch; null where there are none.")


def api(folder: Path) -> APIRouter:
    """The resource under ``/api/v1``."""
    router = APIRouter()

    @router.get("/data-docs")
    def data_docs() -> DataDocsPages:
        """What was found of the decoded records' quality is at ``/data-docs/``, once there is some."""
        try:
            return DataDocsPages(built_ms=int((folder / _INDEX).stat().st_mtime * 1000))
        except OSError:
            return DataDocsPages(built_ms=None)

    return router


def pages(folder: Path) -> APIRouter:
    """The pages themselves."""
    router = APIRouter()

    @router.get("/data-docs/")
    @router.get("/data-docs/{name}")
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
