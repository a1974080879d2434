"""Settings of a gateway that may change at SIGHUP."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from clientscope.config import GatewaySettings
from clientscope.errors import SettingsError
from clientscope.gateway import tls
from clientscope.gateway.policy.plan import PolicyPlan

log = logging.getLogger(__name__)

LIMITS = (
    "max_connections", "max_connections_per_ip", "buffered_max_bytes", "unauthenticated_timeout_ms", "connections_max_idle_ms",
    "drain_timeout_ms", "heartbeat_interval_ms", "client_config_max_bytes", "policy_deadline_ms",
    "push_rate", "push_burst", "push_rate_per_client", "push_burst_per_client",
    "push_rate_per_principal", "push_burst_per_principal", "push_rate_per_address", "push_burst_per_address",
    "client_telemetry_interval_ms", "client_telemetry_metrics", "client_telemetry_client_id",
    "client_telemetry_principal", "client_telemetry_software",
)  # fmt: skip
"""What applies at once; ``client_config_max_bytes`` to connections that are opened from then on."""

_BY_OTHERS = (*tls.SETTINGS, "digest_key_file", "client_config_policy_configs")
"""What is read again elsewhere, whether its name has changed or not: files change under their names."""


def read_again(again: Callable[[], GatewaySettings]) -> GatewaySettings | None:
    """The settings as they are now; None, with an error in the log, where they can't be used."""
    try:
        settings = again()
        PolicyPlan.of(settings)
    except SettingsError as error:
        log.error("the settings stay as they were: %s", error)
        return None
    return settings


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
