"""Who a client is, and which application it is of: in findings, the API and the page."""

from __future__ import annotations

from dataclasses import dataclass

from clientscope.model.fields import READ, ShownMs, ShownName


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """Whose it is: `clientscope.findings.fingerprints.application_key`, taken apart.  All None of what concerns no application."""

    __pydantic_config__ = READ

    principal: ShownName | None = None
    client_id: ShownName | None = None
    group: ShownName | None = None


NO_APPLICATION = Application()


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client that has it, or had it, as it pushed it last; ``client_id`` in full.

    Attributes:
        key: of its record in ``clientscope.configs``.
        observed: whether it has pushed nothing, but was seen; pushed_ms is when its record was written then.
        disconnected_ms: when its last connection closed, as far as that is known, or else when it pushed; None: it is connected.
    """

    __pydantic_config__ = READ

    key: ShownName = ""
    client_id: ShownName | None = None
    instance_id: ShownName | None = None
    principal: ShownName | None = None
    address: ShownName = ""
    software_name: ShownName = ""
    software_version: ShownName = ""
    cluster: ShownName = ""
    broker: int = -1
    gateway: ShownName = ""
    observed: bool = False
    pushed_ms: ShownMs = 0
    disconnected_ms: ShownMs | None = None
