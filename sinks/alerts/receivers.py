"""Receivers, and the reader of ``receivers.toml``; docs/alerts.md describes it.

Every address and secret is checked here, so that what can't work is reported at the start, with its line.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, InstanceOf, ValidationInfo

from clientscope.errors import SettingsError
from clientscope.model.finding import Finding
from clientscope.profiles.client_patterns import Patterns
from clientscope.profiles.toml_tables import InvalidValue, TomlFile
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


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class _Context:
    """What the values of a file are checked with."""

    environ: Mapping[str, str]
    allowed_hosts: AllowedHosts | None


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("letters, digits, . _ and - are expected, at most 64")
    return text


def _present(path: Path) -> Path:
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    return path


def _secret(source: str, info: ValidationInfo[_Context]) -> str:
    """The one line that ``file:PATH`` or ``env:NAME`` holds; an error names the source, never its content."""
    kind, _, name = source.partition(":")
    if not _is_source(source):
        raise InvalidValue("a secret must not be written here itself", _SOURCES)
    if kind == "env":
        if name.startswith("CLIENTSCOPE_"):
            raise InvalidValue(f"{name} looks like one of clientscope's own settings", "give the variable another name")
        text = info.context.environ.get(name, "")
        if not text:
            raise InvalidValue(f"the environment has no {name}", "set it, or name a file: file:/path")
    else:
        try:
            require_private(Path(name), "the file", _SOURCES)
            text = Path(name).read_text("utf-8").rstrip("\r\n")
        except SettingsError as error:
            raise InvalidValue(str(error), error.hint) from None
        except UnicodeDecodeError:
            raise InvalidValue(f"{name} isn't UTF-8") from None
    if not text or any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise InvalidValue(f"{name} is empty, or has more than one line", "it must hold the secret and nothing else")
    return text


def _signing_secret(source: object, info: ValidationInfo[_Context]) -> bytes:
    if not isinstance(source, str):
        raise InvalidValue("a text is expected", _SOURCES)
    text = _secret(source, info).removeprefix("whsec_")
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        key = b""
    if not 24 <= len(key) <= 64:
        hint = "make one: echo whsec_$(openssl rand -base64 32)"
        raise InvalidValue(f"{source} holds no secret by Standard Webhooks: 24 to 64 bytes in base64, after whsec_", hint)
    return key


def _address(text: str, info: ValidationInfo[_Context]) -> str:
    is_apprise = info.data.get("kind") == "apprise"
    if is_apprise and not _is_source(text):
        raise InvalidValue("Apprise's addresses hold secrets, so they don't stand here", 'url = "file:/path", or "env:NAME"')
    url = _secret(text, info) if _is_source(text) else text
    if is_apprise:
        _check_apprise_url(url)
    else:
        check_url(url, info.context.allowed_hosts)
    return url


def _headers(given: dict[str, str]) -> dict[str, str]:
    for name, value in given.items():
        if not _HEADER.fullmatch(name) or name.lower() in _OURS or name.lower().startswith("webhook-"):
            raise ValueError(f"{name!r} is no header that may be set")
        try:
            value.encode("latin-1")
        except UnicodeEncodeError:
            raise ValueError(f"the value of {name} has characters that no header may have") from None
    return given


_Address = Annotated[str, AfterValidator(_address)]


class Receiver(_Table):
    """One receiver: the keys of every kind.

    Attributes:
        urls: its addresses; only Alertmanager has several.  Secret where they came from a file or the environment.
        timeout_s: for one attempt.
        severity: this or worse.
        code, principal, client_id, team: patterns of which one must match, if there are any.
        allowed_hosts: the file's; None restricts nothing.
    """

    name: Annotated[str, AfterValidator(_name)]
    kind: ReceiverKind
    urls: tuple[_Address, ...] = Field(min_length=1, repr=False)
    timeout_s: float = Field(10, alias="timeout_seconds", ge=0.5, le=60)
    severity: Severity = "info"
    code: Patterns | None = None
    principal: Patterns | None = None
    client_id: Patterns | None = None
    team: Patterns | None = None
    allowed_hosts: InstanceOf[AllowedHosts] | None = None

    def wants(self, finding: Finding) -> bool:
        """Whether a finding is routed to it.  A leak is by any of the applications that have the secret."""
        applications = [finding.application, *(place.application for place in finding.places)]
        asked: list[tuple[Patterns | None, list[str | None]]] = [
            (self.code, [finding.code]),
            (self.principal, [each.principal for each in applications]),
            (self.client_id, [each.client_id for each in applications]),
            (self.team, [finding.owner.team if finding.owner else None]),
        ]
        return SEVERITIES.index(finding.severity) >= SEVERITIES.index(self.severity) and all(
            patterns is None or any(value is not None and fnmatchcase(value, pattern) for value in values for pattern in patterns)
            for patterns, values in asked
        )


class HttpReceiver(Receiver):
    """And those of kinds whose requests are clientscope's own.

    Attributes:
        headers: sent with each request, secret.
        ca: PEM file that signs its certificate; None takes the system's.
    """

    headers: Annotated[dict[str, Annotated[str, AfterValidator(_secret)]], AfterValidator(_headers)] = Field(
        default_factory=dict, repr=False
    )
    ca: Annotated[Path, AfterValidator(_present)] | None = None


class MessageReceiver(Receiver):
    """And those of kinds that get a message for each change: all of Apprise's.

    Attributes:
        resolved: whether it also gets a message when a finding ends.
        group_wait_s: how long the first finding of a message waits for others; Alertmanager groups alerts by itself.
    """

    urls: Annotated[tuple[_Address], BeforeValidator(lambda url: (url,))] = Field(alias="url", repr=False)
    resolved: bool = True
    group_wait_s: float = Field(GROUP_WAIT_S, alias="group_wait_seconds", ge=0, le=600)


class WebhookReceiver(MessageReceiver, HttpReceiver):
    """And those of a web hook.

    Attributes:
        secrets: what it signs with, the newest first.
    """

    secrets: tuple[Annotated[bytes, BeforeValidator(_signing_secret)], ...] = Field(min_length=1, max_length=2, repr=False)


KINDS: dict[str, type[Receiver]] = {"alertmanager": HttpReceiver, "webhook": WebhookReceiver, "apprise": MessageReceiver}


class _Kind(BaseModel):
    """The key that decides which of `KINDS` a table is."""

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
    context = _Context(os.environ if environ is None else environ, allowed)
    made: list[Receiver] = []
    for index in range(len(model.receiver)):
        at = ("receiver", index)
        receiver = file.model(KINDS[file.model(_Kind, at).kind], at, context).model_copy(update={"allowed_hosts": allowed})
        if any(receiver.name == other.name for other in made):
            raise file.error((*at, "name"), f"receiver[{index + 1}].name: there are two {receiver.name!r}")
        made.append(receiver)
    return made


def _is_source(text: str) -> bool:
    """Whether a setting names the source of its value rather than the value.  ``file://`` begins an address, not a source."""
    return text.startswith("env:") or (text.startswith("file:") and not text.startswith("file://"))


def _check_apprise_url(url: str) -> None:
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
