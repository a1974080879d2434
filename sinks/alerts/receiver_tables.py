"""Tables of receivers in ``receivers.toml``: the keys that all kinds share, and the conversion to a `Receiver`.

A key's ``description`` is its line of docs/alerts.md; keys of the same description share a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Generic
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from clientscope.errors import SettingsError
from clientscope.profiles.client_patterns import Patterns
from clientscope.profiles.toml_tables import Place, TomlFile
from clientscope.severities import Severity
from sinks.alerts import secret_sources
from sinks.alerts.addresses import NEVER, AddressRefused, Network, Target
from sinks.alerts.receivers import Damping, GroupKey, Receiver, ReceiverKind, T
from sinks.alerts.silences import Match

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OURS = ("host", "content-length", "content-type", "transfer-encoding", "connection", "user-agent")

CheckAddress = Callable[[str, Sequence[Network]], object]
"""Raises `AddressRefused` for an address that nothing may be sent to, by the networks that the receiver permits."""


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, KeyError, OSError):  # ZoneInfoNotFoundError is a KeyError, and an unreadable one an OSError
        raise ValueError(f"{name!r} is no time zone, as in Europe/Berlin") from None
    return name


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("letters, digits, . _ and - are expected, at most 64")
    return text


def _networks(texts: tuple[str, ...]) -> tuple[str, ...]:
    for text in texts:
        try:
            network = ip_network(text)
        except ValueError:
            raise ValueError(f"{text!r} is no network, as in 10.0.0.0/8 or 127.0.0.1") from None
        if any(type(never) is type(network) and network.subnet_of(never) for never in NEVER):  # type: ignore[arg-type]
            raise ValueError(f"{text} is link-local, a metadata service or reserved: it can't be permitted")
    return texts


def _present(path: Path) -> Path:
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    return path


Zone = Annotated[str, AfterValidator(_zone)]

ADDRESS = "`https://…`, or `file:…` or `env:…` if it is a secret, as Apprise's always is. Only Alertmanager has `urls`"
_PATTERNS = (
    'only findings that match this pattern, as in `"SK*"`, or one of a list; if several keys are set, all must match. '
    "`team` is of `owners.toml`"
)
_WAIT = "how long the first finding of a group waits for others (10), and the least time between two messages of a group (300)"


class TomlTable(BaseModel):
    """A table without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class _Damping(TomlTable):
    after: int = Field(3, ge=1, le=10)
    window_minutes: float = Field(60, gt=0, le=1_440)
    quiet_minutes: float = Field(15, ge=0, le=1_440)


class ReceiverTable(TomlTable):
    """The keys of every kind."""

    name: Annotated[str, AfterValidator(_name)] = Field(
        description="letters, digits, `.`, `_`, `-`. Deliveries are recorded under it: a receiver with a new name receives all "
        "open findings"
    )
    kind: str = Field(description="{kinds}")
    allow_networks: Annotated[tuple[str, ...], AfterValidator(_networks)] = Field(
        (), description="loopback and private networks in which its address may be; default none. See [below](#where-messages-may-go)"
    )
    timeout_seconds: float = Field(10, ge=0.5, le=60, description="for one attempt; default 10")
    severity: Severity = Field("info", description="only this severity or worse: `info` (default), `low`, `medium`, `high`, `critical`")
    code: Patterns | None = Field(None, description=_PATTERNS)
    principal: Patterns | None = Field(None, description=_PATTERNS)
    client_id: Patterns | None = Field(None, description=_PATTERNS)
    team: Patterns | None = Field(None, description=_PATTERNS)


class MessageTable(ReceiverTable):
    """And those of kinds that get messages."""

    group_by: tuple[GroupKey, ...] = Field(
        ("code", "severity"),
        description="what goes into one message: of `code`, `severity`, `principal`, `client_id`, `team`, `finding`; default "
        '`["code", "severity"]`. `["finding"]` is one message each, `[]` one for all',
    )
    group_wait_seconds: float = Field(10, ge=0, le=600, description=_WAIT)
    group_interval_seconds: float = Field(300, ge=0, le=86_400, description=_WAIT)
    max_attempts: int = Field(20, ge=1, le=50, description="of one message; default 20 (some two hours), at most 50")
    resolved: bool = Field(True, description="whether the end of a finding is delivered too; default true")
    damping: _Damping = Field(
        default_factory=lambda: _Damping.model_validate({}), description="`after` = 3, `window_minutes` = 60, `quiet_minutes` = 15"
    )
    zone: Zone = Field("UTC", description="of times in messages; default UTC")


class HttpTable(ReceiverTable):
    """And those of kinds whose requests are clientscope's own (`sinks.alerts.sending`)."""

    headers: dict[str, str] = Field(default_factory=dict, description="name → `file:…` or `env:…`")
    ca: Annotated[Path, AfterValidator(_present)] | None = Field(
        None, description="PEM file of the certificate authority; default is the system's"
    )


class TableReader(Generic[T]):
    """One receiver's table, on its way to a `Receiver`.  Errors have the line and the key, and no secret."""

    def __init__(self, file: TomlFile, index: int, kind: ReceiverKind[T], table: T, environ: Mapping[str, str] | None) -> None:
        self.table = table
        self._file = file
        self._index = index
        self._kind = kind
        self._environ = environ

    def error(self, key: str, message: str, hint: str | None = None) -> SettingsError:
        """An error about one of its keys."""
        place: Place = ("receiver", self._index, key)
        return self._file.error(place, f"receiver[{self._index + 1}].{key}: {message}", hint)

    def secret(self, key: str, source: str) -> str:
        """What a key's ``file:…`` or ``env:…`` holds."""
        within = key.partition(".")[0]
        line = self._file.line(("receiver", self._index, within))
        return secret_sources.read(source, f"{self._file.path}:{line}: receiver[{self._index + 1}].{key}", self._environ)

    def address(self, key: str, text: str, check: CheckAddress = Target.of) -> str:
        """The address that a key has, or that the file or variable holds which it names, once it is one that may be sent to."""
        url = self.secret(key, text) if secret_sources.is_source(text) else text
        try:
            check(url, self._networks())
        except AddressRefused as error:
            raise self.error(key, str(error)) from None
        return url

    def receiver(self, urls: tuple[str, ...], secrets: tuple[bytes, ...] = ()) -> Receiver:
        """The receiver, with what its kind made of its own keys."""
        table = self.table
        made = Receiver(
            name=table.name,
            kind=self._kind,
            urls=urls,
            secrets=secrets,
            allow_networks=self._networks(),
            timeout_s=table.timeout_seconds,
            severity=table.severity,
            match=Match(table.code or (), table.principal or (), table.client_id or (), table.team or ()),
        )
        if isinstance(table, HttpTable):
            made = replace(made, headers=tuple(self._header(name, source) for name, source in table.headers.items()), ca=table.ca)
        if isinstance(table, MessageTable):
            damping = table.damping
            made = replace(
                made,
                group_by=table.group_by,
                group_wait_ms=round(table.group_wait_seconds * 1000),
                group_interval_ms=round(table.group_interval_seconds * 1000),
                max_attempts=table.max_attempts,
                resolved=table.resolved,
                zone=ZoneInfo(table.zone),
                damping=Damping(damping.after, round(damping.window_minutes * 60_000), round(damping.quiet_minutes * 60_000)),
            )
        return made

    def _networks(self) -> tuple[Network, ...]:
        return tuple(ip_network(text) for text in self.table.allow_networks)

    def _header(self, name: str, source: str) -> tuple[str, str]:
        if not _HEADER.fullmatch(name) or name.lower() in _OURS or name.lower().startswith("webhook-"):
            raise self.error("headers", f"{name!r} is no header that may be set")
        value = self.secret(f"headers.{name}", source)
        try:
            value.encode("latin-1")
        except UnicodeEncodeError:
            raise self.error("headers", f"the value of {name} has characters that no header may have") from None
        return name, value
