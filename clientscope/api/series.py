"""API models of the last hours, minute by minute. Times are in ms since the epoch, UTC."""

from __future__ import annotations

from pydantic import Field

from clientscope.api.common import Feed, Model


class SeriesOfVersion(Model):
    """Connections of one software version, minute by minute."""

    software_name: str
    software_version: str
    connections: list[int | None]


class Series(Model):
    """Numbers by minute; every list is as long as `minutes`, and null is not known, never zero."""

    version: int
    feed: Feed
    minutes: list[int] = Field(description="When each begins; the last one is still going on.")
    connections: list[int | None] = Field(description="Open, at the end of each minute.")
    versions: list[SeriesOfVersion] = Field(description="The eight that had most connections, the most first.")
    other: list[int | None] = Field(description="Connections of all the other versions.")
    opened: list[int | None]
    closed: list[int | None]
    pushes: list[int | None] = Field(description="Pushed configurations, as `pushes` of the overview counts them.")
