"""Settings of a gateway that may change at SIGHUP."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

from clientscope.config import GatewaySettings
from clientscope.gateway import tls
from clientscope.gateway.quota import PushRate

LIMITS = (
    "max_connections", "max_connections_per_ip", "buffered_max_bytes", "unauthenticated_timeout_ms", "connections_max_idle_ms",
    "drain_timeout_ms", "heartbeat_interval_ms", "client_config_max_bytes", "policy_deadline_ms",
    "push_rate", "push_burst", "push_rate_per_client", "push_burst_per_client",
    "push_rate_per_principal", "push_burst_per_principal", "push_rate_per_address", "push_burst_per_address",
)  # fmt: skip
"""What applies at once; ``client_config_max_bytes`` to connections that are opened from then on."""

_BY_OTHERS = (*tls.SETTINGS, "digest_key_file", "client_config_policy_configs")
"""What is read again elsewhere, whether its name has changed or not: files change under their names."""


class Changes(NamedTuple):
    """What another reading of the settings comes to.

    Attributes:
        settings: those that apply from now on.
        applied, fixed: names of settings that have changed, and do so at once, or with a restart only.
    """

    settings: GatewaySettings
    applied: list[str]
    fixed: list[str]


def changes(present: GatewaySettings, again: GatewaySettings) -> Changes:
    """Compares what is with what was read again."""
    changed = [name for name in type(present).model_fields if getattr(present, name) != getattr(again, name)]
    applied = [name for name in changed if name in LIMITS]
    fixed = [name for name in changed if name not in LIMITS and name not in _BY_OTHERS]
    return Changes(present.model_copy(update={name: getattr(again, name) for name in applied}), applied, fixed)


class Quotas(TypedDict):
    """`PushQuota`'s rates."""

    per_client: PushRate
    in_all: PushRate
    per_principal: PushRate
    per_address: PushRate


def quotas(settings: GatewaySettings) -> Quotas:
    """`PushQuota`'s arguments."""
    return {
        "per_client": PushRate(settings.push_rate_per_client, settings.push_burst_per_client),
        "in_all": PushRate(settings.push_rate, settings.push_burst),
        "per_principal": PushRate(settings.push_rate_per_principal, settings.push_burst_per_principal),
        "per_address": PushRate(settings.push_rate_per_address, settings.push_burst_per_address),
    }
