"""Receivers, and the reader of ``receivers.toml``; docs/alerts.md describes it.

Every address and secret is checked here, so that what can't work is reported at the start, with its line.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from clientscope.errors import SettingsError
from clientscope.model.finding import Finding
from clientscope.profiles.client_patterns import Patterns
from clientscope.profiles.toml_tables import TomlFile
from clientscope.secret_files import require_private
from clientscope.severities import SEVERITIES, Severity
from sinks.alerts.sending import AllowedHosts, check_url

_HINT = "docs/alerts.md describes receivers.toml"
_SOURCES = "file:/path/of/a/file that others can't read, or env:NAME_OF_A_VARIABLE"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_NOT_BY_NETWORK = frozenset(
    {
        "file", "syslog", "dbus", "kde", "qt", "glib", "gnome", "macosx", "windows", "blink1",  # of this machine, not of a network
        "rsyslog", "growl", "smpp", "smpps",  # by libraries whose connects can't be checked
    }
)  # fmt: skip
"""Schemes of Apprise's that are refused."""

GROUP_WAIT_S = 10.0
"""Long enough for the findings of one mistake to be one message."""

_OURS = ("host", "content-length", "content-type", "transfer-encoding", "connection", "user-agent")

ReceiverKind = Literal["alertmanager", "webhook", "apprise"]


@dataclass(frozen=True)
class Receiver:
    """One receiver.

    Attributes:
        urls: its addresses; only Alertmanager has several.  Secret where they came from a file or the environment.
        headers: sent with each request, secret.
        secrets: what a web hook signs with, the newest first.
        ca: PEM file that signs its certificate; None takes the system's.
        timeout_s: for one attempt.
        severity: this or worse.
        patterns: by field of a finding, patterns of which one must match.
        resolved: whether it also gets a message when a finding ends.
        group_wait_s: how long the first finding of a message waits for others; Alertmanager groups alerts by itself.
        allowed_hosts: None restricts nothing.
    """

    name: str
    kind: ReceiverKind
    urls: tuple[str, ...] = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    secrets: tuple[bytes, ...] = field(default=(), repr=False)
    ca: Path | None = None
    timeout_s: float = 10.0
    severity: Severity = "info"
    patterns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    resolved: bool = True
    group_wait_s: float = GROUP_WAIT_S
    allowed_hosts: AllowedHosts | None = None

    def wants(self, finding: Finding) -> bool:
        """Whether a finding is routed to it.  A leak is by any of the applications that have the secret."""
        applications = [finding.application, *(place.application for place in finding.places)]
        values: dict[str, list[str | None]] = {
            "code": [finding.code],
            "principal": [each.principal for each in applications],
            "client_id": [each.client_id for each in applications],
            "team": [finding.owner.team if finding.owner else None],
        }
        return SEVERITIES.index(finding.severity) >= SEVERITIES.index(self.severity) and all(
            any(value is not None and fnmatchcase(value, pattern) for value in values[key] for pattern in patterns)
            for key, patterns in self.patterns.items()
        )


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("letters, digits, . _ and - are expected, at most 64")
    return text


def _present(path: Path) -> Path:
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    return path


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ReceiverTable(_Table):
    """The keys of every kind."""

    name: Annotated[str, AfterValidator(_name)]
    kind: ReceiverKind
    timeout_s: float = Field(10, alias="timeout_seconds", ge=0.5, le=60)
    severity: Severity = "info"
    code: Patterns | None = None
    principal: Patterns | None = None
    client_id: Patterns | None = None
    team: Patterns | None = None


class HttpTable(ReceiverTable):
    """And those of kinds whose requests are clientscope's own."""

    headers: dict[str, str] = Field(default_factory=dict)
    ca: Annotated[Path, AfterValidator(_present)] | None = None


class AlertmanagerTable(HttpTable):
    """And those of Alertmanager."""

    urls: tuple[str, ...] = Field(min_length=1)


class MessagesTable(ReceiverTable):
    """And those of kinds that get a message for each change: all of Apprise's."""

    url: str
    resolved: bool = True
    group_wait_s: float = Field(GROUP_WAIT_S, alias="group_wait_seconds", ge=0, le=600)


class WebhookTable(HttpTable, MessagesTable):
    """And those of a web hook."""

    secrets: tuple[str, ...] = Field(min_length=1, max_length=2)


TABLES: dict[str, type[ReceiverTable]] = {"alertmanager": AlertmanagerTable, "webhook": WebhookTable, "apprise": MessagesTable}
"""By kind."""


class _Kind(BaseModel):
    """The key that decides which of `TABLES` a table is."""

    kind: ReceiverKind


class _File(_Table):
    allowed_hosts: tuple[Annotated[str, Field(min_length=1)], ...] | None = None
    receiver: tuple[dict[str, Any], ...] = Field(min_length=1)


def read(path: Path, environ: Mapping[str, str] | None = None) -> list[Receiver]:
    """The receivers of a file, with their secrets.

    Raises:
        SettingsError: it can't be read, or something in it is wrong; says the line and the key, and no secret.
    """
    file = TomlFile(path, _HINT)
    model = file.model(_File)
    allowed = None if model.allowed_hosts is None else AllowedHosts.of(model.allowed_hosts)
    made: list[Receiver] = []
    for index in range(len(model.receiver)):
        table = file.model(TABLES[file.model(_Kind, ("receiver", index)).kind], ("receiver", index))
        receiver = _Reader(file, index, os.environ if environ is None else environ, allowed).receiver(table)
        if any(receiver.name == other.name for other in made):
            raise file.error(("receiver", index, "name"), f"receiver[{index + 1}].name: there are two {receiver.name!r}")
        made.append(receiver)
    return made


class _Reader:
    """One receiver's table, on its way to a `Receiver`.  Errors have the line and the key, and no secret."""

    def __init__(self, file: TomlFile, index: int, environ: Mapping[str, str], allowed: AllowedHosts | None) -> None:
        self._file, self._index, self._environ, self._allowed = file, index, environ, allowed

    def receiver(self, table: ReceiverTable) -> Receiver:
        """The receiver."""
        given = table.model_dump(include={"name", "kind", "timeout_s", "severity", "resolved", "group_wait_s", "ca"})
        patterns = {key: getattr(table, key) for key in ("code", "principal", "client_id", "team") if getattr(table, key) is not None}
        if isinstance(table, HttpTable):
            given["headers"] = tuple(self._header(name, source) for name, source in table.headers.items())
        if isinstance(table, AlertmanagerTable):
            urls = tuple(self._address("urls", url, check_url) for url in table.urls)
        elif isinstance(table, WebhookTable):
            urls = (self._address("url", table.url, check_url),)
            given["secrets"] = tuple(self._signing_secret(source) for source in table.secrets)
        else:
            url = cast("MessagesTable", table).url
            if not _is_source(url):
                raise self._error("url", "Apprise's addresses hold secrets, so they don't stand here", 'url = "file:/path", or "env:NAME"')
            urls = (self._address("url", url, _check_apprise_url),)
        return Receiver(urls=urls, patterns=patterns, allowed_hosts=self._allowed, **given)

    def _error(self, key: str, message: str, hint: str | None = None) -> SettingsError:
        return self._file.error(("receiver", self._index, key), f"receiver[{self._index + 1}].{key}: {message}", hint)

    def _address(self, key: str, text: str, check: Callable[[str, AllowedHosts | None], None]) -> str:
        url = self._secret(key, text) if _is_source(text) else text
        try:
            check(url, self._allowed)
        except ValueError as error:
            raise self._error(key, str(error)) from None
        return url

    def _header(self, name: str, source: str) -> tuple[str, str]:
        if not _HEADER.fullmatch(name) or name.lower() in _OURS or name.lower().startswith("webhook-"):
            raise self._error("headers", f"{name!r} is no header that may be set")
        value = self._secret("headers", source, f".{name}")
        try:
            value.encode("latin-1")
        except UnicodeEncodeError:
            raise self._error("headers", f"the value of {name} has characters that no header may have") from None
        return name, value

    def _signing_secret(self, source: str) -> bytes:
        text = self._secret("secrets", source).removeprefix("whsec_")
        try:
            key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except binascii.Error:
            key = b""
        if not 24 <= len(key) <= 64:
            hint = "make one: echo whsec_$(openssl rand -base64 32)"
            raise self._error("secrets", f"{source} holds no secret by Standard Webhooks: 24 to 64 bytes in base64, after whsec_", hint)
        return key

    def _secret(self, key: str, source: str, within: str = "") -> str:
        """The one line that ``file:PATH`` or ``env:NAME`` holds; an error names the source, never its content."""
        line = self._file.line(("receiver", self._index, key))
        setting = f"{self._file.path}:{line}: receiver[{self._index + 1}].{key}{within}"
        kind, _, name = source.partition(":")
        if not _is_source(source):
            raise SettingsError(f"{setting}: a secret must not be written here itself", _SOURCES)
        if kind == "env":
            if name.startswith("CLIENTSCOPE_"):
                raise SettingsError(f"{setting}: {name} looks like one of clientscope's own settings", "give the variable another name")
            text = self._environ.get(name, "")
            if not text:
                raise SettingsError(f"{setting}: the environment has no {name}", "set it, or name a file: file:/path")
        else:
            require_private(Path(name), setting, _SOURCES)
            try:
                text = Path(name).read_text("utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                raise SettingsError(f"{setting}: {name} isn't UTF-8") from None
        if not text or any(ord(character) < 32 or ord(character) == 127 for character in text):
            raise SettingsError(f"{setting}: {name} is empty, or has more than one line", "it must hold the secret and nothing else")
        return text


def _is_source(text: str) -> bool:
    """Whether a setting names the source of its value rather than the value.  ``file://`` begins an address, not a source."""
    return text.startswith("env:") or (text.startswith("file:") and not text.startswith("file://"))


def _check_apprise_url(url: str, _allowed: AllowedHosts | None) -> None:
    """Checks how many addresses it is, and the scheme; which hosts it leads to is up to the service, and checked as it connects.

    Raises:
        ValueError: it is several addresses, or of a scheme that isn't delivered to.
    """
    schemes = _SCHEME.findall(url.split("?", 1)[0])
    if not schemes or not _SCHEME.match(url):
        raise ValueError("it is no address of Apprise's, as in slack://… or mailto://…")
    if len(schemes) > 1:
        raise ValueError("it is more than one address: make a receiver of each")
    if schemes[0].lower() in _NOT_BY_NETWORK:
        raise ValueError(f"{schemes[0].lower()}:// isn't delivered to")
