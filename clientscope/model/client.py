"""Who a client is, and which application it is of: wherever one is shown or told apart from others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from clientscope.model.fields import READ, Id32, ShownName


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """Whose it is: `clientscope.findings.fingerprints.application_key`, taken apart.  All None of what concerns no application."""

    __pydantic_config__ = READ

    principal: ShownName | None = None
    client_id: ShownName | None = None
    group: ShownName | None = None


NO_APPLICATION = Application()

_KEY = Field(description="Of its record in `clientscope.configs`; of connected clients, what names them in addresses of the page.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Who a client is, and where it is connected; empty or None for what isn't known, or what it doesn't have."""

    __pydantic_config__ = READ

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
