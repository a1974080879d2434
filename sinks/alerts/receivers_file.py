"""``receivers.toml``: who is told of which findings, and how; docs/alerts.md describes it.

Every address and secret is looked at here, so that what can't work is said at the start, with its line.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from datetime import UTC, datetime, time
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from clientscope.errors import SettingsError
from clientscope.profiles.toml_tables import Place, TomlFile
from clientscope.profiles.whom import Patterns
from clientscope.severities import Severity
from sinks.alerts import apprise_urls, secret_sources
from sinks.alerts.addresses import NEVER, AddressRefused, Network, Target
from sinks.alerts.receivers import Damping, GroupKey, Kind, Receiver, Receivers
from sinks.alerts.silences import DAYS, Match, Silence

_HINT = "docs/alerts.md describes receivers.toml"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OURS = ("host", "content-length", "content-type", "transfer-encoding", "connection", "user-agent")
_ONLY: Mapping[str, tuple[Kind, ...]] = {
    "url": ("webhook", "apprise"),
    "urls": ("alertmanager",),
    "headers": ("webhook", "alertmanager"),
    "secrets": ("webhook",),
    "ca": ("webhook", "alertmanager"),
    "group_by": ("webhook", "apprise"),
    "group_wait_seconds": ("webhook", "apprise"),
    "group_interval_seconds": ("webhook", "apprise"),
    "max_attempts": ("webhook", "apprise"),
    "damping": ("webhook", "apprise"),
    "resolved": ("webhook", "apprise"),
    "zone": ("webhook", "apprise"),
}
"""Settings that only some kinds have a use for."""


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, OSError):  # ZoneInfoNotFoundError is a KeyError, and an unreadable one an OSError
        raise ValueError(f"{name!r} is no time zone, as in Europe/Berlin") from None
    except KeyError:
        raise ValueError(f"{name!r} is no time zone, as in Europe/Berlin") from None
    return name


def _with_zone(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("it has no time zone: write 2026-12-24T18:00:00Z, or +01:00 at its end")
    return moment


Zone = Annotated[str, AfterValidator(_zone)]
Moment = Annotated[datetime, AfterValidator(_with_zone)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Damping(_Table):
    after: int = Field(3, ge=1, le=10)
    window_minutes: float = Field(60, gt=0, le=1_440)
    quiet_minutes: float = Field(15, ge=0, le=1_440)


class _Receiver(_Table):
    name: str
    kind: Kind
    url: str | None = None
    urls: tuple[str, ...] | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    secrets: tuple[str, ...] | None = None
    allow_networks: tuple[str, ...] = ()
    ca: Path | None = None
    timeout_seconds: float = Field(10, ge=0.5, le=60)
    severity: Severity = "info"
    code: Patterns | None = None
    principal: Patterns | None = None
    client_id: Patterns | None = None
    team: Patterns | None = None
    group_by: tuple[GroupKey, ...] = ("code", "severity")
    group_wait_seconds: float = Field(10, ge=0, le=600)
    group_interval_seconds: float = Field(300, ge=0, le=86_400)
    max_attempts: int = Field(20, ge=1, le=50)
    resolved: bool = True
    zone: Zone = "UTC"
    damping: _Damping = Field(default_factory=lambda: _Damping.model_validate({}))


class _Silence(_Table):
    reason: str = Field(min_length=1)
    receiver: Patterns | None = None
    code: Patterns | None = None
    principal: Patterns | None = None
    client_id: Patterns | None = None
    team: Patterns | None = None
    begins: Moment | None = None
    ends: Moment | None = None
    days: tuple[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"], ...] = ()
    start: time | None = None
    end: time | None = None
    zone: Zone = "UTC"


class _File(_Table):
    receiver: tuple[_Receiver, ...] = Field(min_length=1)
    silence: tuple[_Silence, ...] = ()


def read(path: Path, environ: Mapping[str, str] | None = None) -> Receivers:
    """The receivers of a file, with their secrets.

    Raises:
        SettingsError: it can't be read, or something in it is wrong; says the line and the key, and no secret.
    """
    file = TomlFile(path, _HINT)
    model = file.model(_File)
    made: list[Receiver] = []
    for index, table in enumerate(model.receiver):
        if any(table.name == other.name for other in made):
            raise file.error(("receiver", index, "name"), f"receiver[{index + 1}].name: there are two {table.name!r}")
        made.append(_Checked(file, index, table, environ).receiver())
    return Receivers(tuple(made), tuple(_silence(file, index, table, made) for index, table in enumerate(model.silence)))


class _Checked:
    """One receiver's table."""

    def __init__(self, file: TomlFile, index: int, table: _Receiver, environ: Mapping[str, str] | None) -> None:
        self._file = file
        self._index = index
        self._table = table
        self._environ = environ

    def receiver(self) -> Receiver:
        table = self._table
        if not _NAME.fullmatch(table.name):
            raise self._error("name", "letters, digits, . _ and - are expected, at most 64")
        for key, kinds in _ONLY.items():
            if key in table.model_fields_set and table.kind not in kinds:
                raise self._error(key, f"it has no use for kind = {table.kind!r}", f"it is of {' and '.join(kinds)}")
        networks = tuple(self._network(text) for text in table.allow_networks)
        if table.ca is not None and not table.ca.is_file():
            raise self._error("ca", f"{table.ca}: no such file")
        damping = table.damping
        return Receiver(
            name=table.name,
            kind=table.kind,
            urls=self._urls(networks),
            headers=tuple(self._header(name, source) for name, source in table.headers.items()),
            secrets=self._secrets(),
            allow_networks=networks,
            ca=table.ca,
            timeout_s=table.timeout_seconds,
            severity=table.severity,
            match=_match(table),
            group_by=table.group_by,
            group_wait_ms=round(table.group_wait_seconds * 1000),
            group_interval_ms=round(table.group_interval_seconds * 1000),
            max_attempts=table.max_attempts,
            resolved=table.resolved,
            zone=_zone_info(table.zone),
            damping=Damping(damping.after, round(damping.window_minutes * 60_000), round(damping.quiet_minutes * 60_000)),
        )

    def _error(self, key: str, message: str, hint: str | None = None) -> SettingsError:
        place: Place = ("receiver", self._index, key)
        return self._file.error(place, f"receiver[{self._index + 1}].{key}: {message}", hint)

    def _network(self, text: str) -> Network:
        try:
            network = ip_network(text)
        except ValueError:
            raise self._error("allow_networks", f"{text!r} is no network, as in 10.0.0.0/8 or 127.0.0.1") from None
        if any(type(never) is type(network) and network.subnet_of(never) for never in NEVER):  # type: ignore[arg-type]
            raise self._error("allow_networks", f"{text} is link-local, a metadata service or nobody's: it can't be permitted")
        return network

    def _urls(self, networks: tuple[Network, ...]) -> tuple[str, ...]:
        table = self._table
        key = "urls" if table.kind == "alertmanager" else "url"
        given = (table.urls or ()) if key == "urls" else ((table.url,) if table.url else ())
        if not given:
            raise self._error(key, "it is missing", f'{key} = {"[" if key == "urls" else ""}"https://…", or "file:…" or "env:…"')
        if table.kind == "apprise" and not secret_sources.is_source(given[0]):
            raise self._error(key, "Apprise's addresses hold secrets, so they don't stand here", 'url = "file:/path", or "env:NAME"')
        urls = []
        for text in given:
            url = secret_sources.read(text, f"{self._at(key)}", self._environ) if secret_sources.is_source(text) else text
            try:
                if table.kind == "apprise":
                    apprise_urls.check_address(url, networks)
                else:
                    Target.of(url, networks)
            except AddressRefused as error:
                raise self._error(key, str(error)) from None
            urls.append(url)
        return tuple(urls)

    def _at(self, key: str) -> str:
        line = self._file.line(("receiver", self._index, key))
        return f"{self._file.path}:{line}: receiver[{self._index + 1}].{key}"

    def _header(self, name: str, source: str) -> tuple[str, str]:
        if not _HEADER.fullmatch(name) or name.lower() in _OURS or name.lower().startswith("webhook-"):
            raise self._error("headers", f"{name!r} is no header that may be set")
        value = secret_sources.read(source, f"{self._at('headers')}.{name}", self._environ)
        try:
            value.encode("latin-1")
        except UnicodeEncodeError:
            raise self._error("headers", f"the value of {name} has characters that no header may have") from None
        return name, value

    def _secrets(self) -> tuple[bytes, ...]:
        table = self._table
        if table.kind != "webhook":
            return ()
        if not table.secrets or len(table.secrets) > 2:
            hint = 'secrets = ["file:/run/secrets/hook"]; while rotating two, the new one first'
            raise self._error("secrets", "one is needed to sign with, or two while rotating", hint)
        return tuple(self._secret(source) for source in table.secrets)

    def _secret(self, source: str) -> bytes:
        text = secret_sources.read(source, self._at("secrets"), self._environ).removeprefix("whsec_")
        try:
            key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except binascii.Error:
            key = b""
        if not 24 <= len(key) <= 64:
            hint = "make one: echo whsec_$(openssl rand -base64 32)"
            raise self._error("secrets", f"{source} holds no secret by Standard Webhooks: 24 to 64 bytes in base64, after whsec_", hint)
        return key


def _match(table: _Receiver | _Silence) -> Match:
    return Match(table.code or (), table.principal or (), table.client_id or (), table.team or ())


def _zone_info(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def _silence(file: TomlFile, index: int, table: _Silence, receivers: list[Receiver]) -> Silence:
    def error(key: str, message: str, hint: str | None = None) -> SettingsError:
        return file.error(("silence", index, key), f"silence[{index + 1}].{key}: {message}", hint)

    kinds = {receiver.name: receiver.kind for receiver in receivers}
    for name in table.receiver or ():
        if name not in kinds:
            raise error("receiver", f"there is no receiver {name!r}", f"known: {', '.join(kinds)}")
        if kinds[name] == "alertmanager":
            raise error("receiver", f"{name} is an Alertmanager, which has silences of its own", "amtool silence add")
    again = bool(table.days) or table.start is not None or table.end is not None
    if again and (table.start is None or table.end is None):
        raise error("start" if table.start is None else "end", "what comes again needs start and end", "start = 22:00:00, end = 06:00:00")
    if not again and table.begins is None and table.ends is None:
        raise error("begins", "it says no time", "begins and ends, or days with start and end")
    if table.begins and table.ends and table.ends <= table.begins:
        raise error("ends", "it isn't after begins")
    days = tuple(DAYS.index(day) for day in table.days) or (tuple(range(7)) if again else ())
    return Silence(
        match=_match(table),
        reason=table.reason,
        receivers=tuple(table.receiver or (name for name, kind in kinds.items() if kind != "alertmanager")),
        begins=table.begins,
        ends=table.ends,
        days=days,
        start=table.start or time.min,
        end=table.end or time.min,
        zone=_zone_info(table.zone) if table.zone != "UTC" else UTC,
    )
