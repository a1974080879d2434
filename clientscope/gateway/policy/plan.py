"""Plan of the policy: its class, what it is configured with, and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from clientscope.config import GatewaySettings
from clientscope.errors import SettingsError

DIGEST_KEY_FILE = "clientscope.digest.key.file"


@dataclass(frozen=True)
class PolicyPlan:
    """Which policy, with what, within which limits; the first message to each of its processes, and again with other settings.

    Attributes:
        class_name: its dotted name.
        configs: what its ``configure`` gets, without ``clientscope.publish``; must pickle.
        own: those of them that are the policy's: what of these may change while it runs, it says itself.
        deadline_s: how long one ``process`` may last.
        memory_bytes: RLIMIT_AS of its process.
    """

    class_name: str
    configs: Mapping[str, Any] = field(repr=False)
    own: frozenset[str]
    deadline_s: float = 0.5
    memory_bytes: int = 512 * 1024 * 1024

    @classmethod
    def of(cls, settings: GatewaySettings) -> PolicyPlan:
        """The plan for a gateway's settings.

        Raises:
            SettingsError: one of the policy's own settings has a name of the gateway's.
        """
        configs = _of_the_gateway(settings)
        for key, value in settings.client_config_policy_configs.items():
            if key in configs or key.startswith("clientscope."):
                raise SettingsError(f"[gateway.policy] {key}: the gateway sets this one itself", "give the policy's setting another name")
            configs[key] = value
        return cls(
            settings.client_config_policy_class_name,
            configs,
            frozenset({DIGEST_KEY_FILE, *settings.client_config_policy_configs}),
            settings.policy_deadline_ms / 1000,
            settings.policy_memory_bytes,
        )


def _of_the_gateway(settings: GatewaySettings) -> dict[str, Any]:
    """All its settings but secrets, under KIP-1324's names where it has some: ``max_connections`` is ``clientscope.max.connections``."""
    configs = {}
    for name in type(settings).model_fields:
        if not isinstance(getattr(settings, name), SecretStr) and name != "client_config_policy_configs":
            key = name.replace("_", ".")
            configs[key if key.startswith("client.config.") else f"clientscope.{key}"] = getattr(settings, name)
    return configs
