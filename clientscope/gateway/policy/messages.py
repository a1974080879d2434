"""Messages between the gateway and its policy's process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clientscope.policy.interface import ClientConfigData, RequestContext


@dataclass(frozen=True)
class Configure:
    """The first message to a process: which policy it is to make, and with what.

    Attributes:
        own: which of the settings are the policy's; None: all.
        memory_bytes: RLIMIT_AS of the process.
    """

    class_name: str
    configs: Mapping[str, Any] = field(repr=False)
    own: frozenset[str] | None
    memory_bytes: int


@dataclass(frozen=True)
class PolicyPush:
    """A push to be processed."""

    number: int
    context: RequestContext
    data: ClientConfigData


@dataclass(frozen=True)
class Acknowledged:
    """Kafka has the record of that `Publish`, or it was dropped."""

    number: int
    lost: bool


@dataclass(frozen=True)
class Reconfigure:
    """New settings, all of them."""

    configs: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Close:
    """No more will come: close the policy, and end."""


@dataclass(frozen=True)
class PolicyProblem:
    """A `SettingsError` on its way between processes."""

    message: str
    hint: str | None = None


@dataclass(frozen=True)
class Configured:
    """The answer to `Configure`."""

    problem: PolicyProblem | None = None


@dataclass(frozen=True)
class Publish:
    """A record for Kafka.

    Attributes:
        push: the push in whose processing it was published, or None.
    """

    number: int
    push: int | None
    topic: str
    key: str
    value: bytes = field(repr=False)


@dataclass(frozen=True)
class Done:
    """``process`` has returned, or raised.

    Attributes:
        outcome: ``accepted``, ``invalid_config`` or ``policy_error``.
        message: of an InvalidConfigException.
        pending: a `Settled` follows.
    """

    push: int
    outcome: str
    message: str | None
    pending: bool
    process_time_s: float


@dataclass(frozen=True)
class Settled:
    """The future that ``process`` returned is done."""

    push: int
    lost: bool


@dataclass(frozen=True)
class Worn:
    """Its memory is nearly used up: it asks to be closed."""


@dataclass(frozen=True)
class Reconfigured:
    """The answer to `Reconfigure`; where ``broken``, the policy is in an unknown state."""

    problem: PolicyProblem | None = None
    broken: bool = False
