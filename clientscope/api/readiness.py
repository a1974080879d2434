"""API models of upgrade readiness. Times are in ms since the epoch, UTC."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clientscope.api.common import Listing, Model

ReadinessBy = Literal["application", "owner", "principal", "software"]
ReadinessName = Literal["breaks", "unknown", "falls_back", "fine"]


class ReadinessItem(Model):
    """Clients that share something, and their worst verdict."""

    label: str | None = Field(description="What they share; null where they have none.")
    verdict: ReadinessName
    clients: int
    with_verdict: int = Field(description="How many of them have the worst verdict.")
    breaks: int
    unknown: int
    falls_back: int
    fine: int
    application: str = Field(description="Of the clients with the worst verdict, as what follows; after three, names are counted.")
    owner: str = Field(description="Empty for none.")
    principal: str
    software: str
    last_old_ms: int | None = Field(
        description="When one last used a version that the target doesn't serve, at the latest; null for never."
    )
    last_seen_ms: int | None = Field(description="When something was last recorded of one of them.")
    reason: str
    advice: str = Field(description="What to do; empty if there is nothing to do.")


class ReadinessGroups(Listing):
    """Groups of clients by whether they work with brokers of another release: the worst verdict first."""

    by: ReadinessBy
    target: str = Field(description="The release, such as 4.4.0.")
    targets: list[str] = Field(description="Releases to ask about, the newest first.")
    verdicts: dict[str, int] = Field(description="Clients by verdict, the worst first; those that no client has are left out.")
    last_old_ms: int | None = Field(description="As of an item, of all clients.")
    first_ms: int | None = Field(description="When the first record was written that this is known by.")
    unread: int = Field(description="Addresses of connections of which nothing was read, or that sent nothing; no clients of the list.")
    forgotten: int = Field(description="Records and clients that did not fit into memory; they aren't among the clients.")
    release_known: bool = Field(description="Whether the release of every cluster's brokers is known; else some clients can't be judged.")
    items: list[ReadinessItem]
