"""Records of ``clientscope.configs``: what one client said about its configuration, redacted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Annotated, Any

from pydantic import Field

from clientscope.model.enums import Origin, PrincipalSource
from clientscope.model.fields import GivenName, Id32, Id64, Ms, Name, SecurityProtocol, Uuid, Version, record
from clientscope.model.setting import Key, Redaction, Setting, SettingOrigin, TypeName

MOST_SETTINGS = 4_096
"""A record of more is not read: eight times what a gateway takes of a push."""


@record
class Push:
    """Value of ``clientscope.configs``.

    A key that the client sent twice is in ``settings`` with the last value, which is the one that counts, as in a properties file, and
    in ``repeated`` with the others.

    Attributes:
        received_ms: when the gateway received the push, or a log was read, in ms since the epoch.
        broker: the broker behind the gateway.
        epoch: when that gateway's process started, in ms since the epoch.
        connection: unique within (gateway, epoch).
        listener: the broker's listener.
        address: the client's IP address.
        principal: who the client is once the broker has accepted it; None where the wire doesn't show it.
        client_id: of the request's header.
        software_name: KIP-511's, or ``unknown``; and its version.
        instance_id: KIP-1324's id of the client instance; None where it has none.
        digest_key_id: which HMAC key made the digests; None where there are none.
        settings: key → value, None where it was redacted, in the order sent, each where it comes last.
        types: key → ConfigDef.Type; a key that isn't there is a string.
        defaults: keys of which the client's user set nothing.
        redacted: key → why its value isn't there.
        repeated: settings whose key comes again later in the push.
    """

    version: Version
    received_ms: Ms
    cluster: GivenName
    broker: Id32
    gateway: GivenName
    epoch: Annotated[int, Field(ge=1, le=2**63 - 1)]
    connection: Id64
    listener: Name
    security_protocol: SecurityProtocol
    address: Name
    principal: Name | None = None
    principal_source: PrincipalSource = PrincipalSource.NONE
    client_id: Name | None = None
    software_name: Name
    software_version: Name
    instance_id: Uuid | None = None
    origin: Origin
    digest_key_id: Name | None = None
    settings: Annotated[dict[Key, str | None], Field(max_length=MOST_SETTINGS)]
    types: Annotated[dict[str, TypeName], Field(max_length=MOST_SETTINGS)] = field(default_factory=dict)
    defaults: Annotated[list[str], Field(max_length=MOST_SETTINGS)] = field(default_factory=list)
    redacted: Annotated[dict[str, Redaction], Field(max_length=MOST_SETTINGS)] = field(default_factory=dict)
    repeated: Annotated[list[Setting], Field(max_length=MOST_SETTINGS)] = field(default_factory=list)

    def listed(self) -> list[Setting]:
        """Every setting, the last of each key behind the others."""
        defaults, type_of, redacted = frozenset(self.defaults), self.types.get, self.redacted.get
        own: SettingOrigin = "set" if self.origin == Origin.PUSHED else "observed"
        last = [
            Setting(key, value, "default" if key in defaults else own, type_of(key, "string"), redacted(key))
            for key, value in self.settings.items()
        ]
        return self.repeated + last


def compact(settings: Iterable[Setting]) -> dict[str, Any]:
    """The fields of a record that have these settings."""
    last: dict[str, Setting] = {}
    repeated = []
    for each in settings:
        if (earlier := last.pop(each.key, None)) is not None:
            repeated.append(earlier)
        last[each.key] = each
    return {
        "settings": {key: each.value for key, each in last.items()},
        "types": {key: each.type for key, each in last.items() if each.type not in (None, "string")},
        "defaults": [key for key, each in last.items() if each.origin == "default"],
        "redacted": {key: each.redacted for key, each in last.items() if each.redacted},
        "repeated": repeated,
    }
