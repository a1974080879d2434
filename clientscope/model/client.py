"""Who a client is, and which application it is of: wherever one is shown or told apart from others."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.model.fields import Id32, ShownName, record


@record
class Application:
    """Whose it is: `clientscope.findings.fingerprints.application_key`, taken apart.  All None of what concerns no application."""

    principal: ShownName | None = None
    client_id: ShownName | None = None
    group: ShownName | None = None


NO_APPLICATION = Application()

_KEY = Field(description="Of its record in `clientscope.configs`; of connected clients, what names them in addresses of the page.")


@record
class Client:
    """Who a client is, and where it is connected; empty or None for what isn't known, or what it doesn't have."""

    key: Annotated[ShownName, _KEY] = ""
    cluster: ShownName = ""
    broker: Id32 | None = None
    gateway: ShownName | None = None
    address: ShownName = ""
    principal: ShownName | None = None
    client_id: ShownName | None = None
    instance_id: ShownName | None = None
    software_name: ShownName = ""
    software_version: ShownName = ""
