"""Records of ``clientscope.configs``: what one client said about its configuration, redacted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from clientscope.catalog.value_states import ValueState
from clientscope.model.enums import Origin, PrincipalSource
from clientscope.model.fields import READ, GivenName, Id32, Id64, Ms, Name, SecurityProtocol, Sha256, Uuid, Version

MOST_SETTINGS = 4_096
"""A record of more is not read: eight times what a gateway takes of a push."""

TypeName = Literal["boolean", "string", "int", "short", "long", "double", "list", "class", "password"]
"""Kafka's ConfigDef.Type, in lower case, by its ordinals."""

Reason = Literal[
    "key_prefix",
    "key_infix",
    "key_suffix",
    "type",
    "key_word",
    "value_shape",
    "looks_random",
    "certificate",
    "without_secret",
    "custom",
]
"""Names of `ValueState`, in lower case, but for the value that is there."""

Key = Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Redaction:
    """Why a value isn't there.

    Attributes:
        length: the value's as pushed, in bytes of UTF-8.
        digest: HMAC-SHA-256 of the value under the record's ``digest_key_id``, in hexadecimal; None without a key.
    """

    reason: Reason
    length: Id32
    digest: Sha256 | None = None


@dataclass(frozen=True, slots=True)
class RecordedSetting:
    """One setting of a push, as it may be written down.

    Attributes:
        value: None where it was redacted.
        type: Kafka's ConfigDef.Type.
        default: true where the client's user set nothing.
    """

    key: Key
    value: str | None
    type: TypeName = "string"
    default: bool = False
    redacted: Redaction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
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

    __pydantic_config__ = READ

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
    repeated: Annotated[list[RecordedSetting], Field(max_length=MOST_SETTINGS)] = field(default_factory=list)

    def listed(self) -> list[RecordedSetting]:
        """Every setting, the last of each key behind the others."""
        defaults, type_of, redacted = frozenset(self.defaults), self.types.get, self.redacted.get
        last = [RecordedSetting(key, value, type_of(key, "string"), key in defaults, redacted(key)) for key, value in self.settings.items()]
        return self.repeated + last


def compact(settings: Iterable[RecordedSetting]) -> dict[str, Any]:
    """The fields of a record that have these settings."""
    last: dict[str, RecordedSetting] = {}
    repeated = []
    for each in settings:
        if (earlier := last.pop(each.key, None)) is not None:
            repeated.append(earlier)
        last[each.key] = each
    return {
        "settings": {key: each.value for key, each in last.items()},
        "types": {key: each.type for key, each in last.items() if each.type != "string"},
        "defaults": [key for key, each in last.items() if each.default],
        "redacted": {key: each.redacted for key, each in last.items() if each.redacted},
        "repeated": repeated,
    }


def reason_name(state: ValueState) -> Reason:
    """Of a value that isn't there."""
    return cast(Reason, state.name.lower())
