"""Settings that the commands which ask serve's history share."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.config import ListingSettings, PageSettings
from clientscope.config.option import Option

HOW = "UTC unless it names a zone, as in 2026-11-24T10:00"


class PastSettings(ListingSettings, PageSettings):
    """Settings of a question about a range of time; without one it is about the last 24 hours."""

    since: Annotated[str, Option(flag="from", metavar="TIME", flag_only=True)] = Field("", description=f"beginning of the range, {HOW}")
    to: Annotated[str, Option(metavar="TIME", flag_only=True)] = Field("", description="end of the range, included; by default now")
    last: Annotated[str, Option(metavar="DURATION", flag_only=True)] = Field("", description="the range that ends now, as in 30m, 2h or 7d")


class WhosePastSettings(PastSettings):
    """The same about an application or client; at least one of these is required, and all that are given must match."""

    application: Annotated[str | None, Option(metavar="TEXT", flag_only=True)] = Field(
        None, description="client.id without its instance part: orders of orders-1 and orders-2"
    )
    client_id: Annotated[str | None, Option(metavar="TEXT", flag_only=True)] = Field(
        None, description="exactly this client.id; an empty one is of clients that have none"
    )
    principal: Annotated[str | None, Option(metavar="TEXT", flag_only=True)] = Field(
        None, description="exactly this principal, such as User:alice"
    )
    address: Annotated[str | None, Option(metavar="TEXT", flag_only=True)] = Field(None, description="exactly this IP address")

    def whose(self) -> dict[str, str | None]:
        """As the API's parameters.

        Raises:
            SettingsError: none is given.
        """
        from clientscope.errors import SettingsError

        given = {"application": self.application, "client_id": self.client_id, "principal": self.principal, "address": self.address}
        if all(value is None for value in given.values()):
            raise SettingsError(
                "say whose: --application, --client-id, --principal or --address", "clientscope history clients lists who was connected"
            )
        return given
