"""Checks of files: keys, tokens and certificates exist, only their owner can read the secret ones, and certificates are valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote

from cryptography import x509

from clientscope import tokens
from clientscope.commands.doctor.result import CheckResult, Situation, not_checked, ok, problem, warning
from clientscope.digest import DigestKey
from clientscope.errors import SettingsError
from clientscope.kafka.access import KafkaAccess
from clientscope.secret_files import require_private

_SOON_DAYS = 30
_MOST_BYTES = 4 * 1024 * 1024


def check_files(situation: Situation) -> Iterator[CheckResult]:
    """Secret files of all processes."""
    found = [*_digest_keys(situation), *_secrets(situation)]
    try:
        situation.access = KafkaAccess.of(situation.kafka)
    except SettingsError as error:
        found.append(_refused(str(error), error))
    else:
        if path := situation.kafka.kafka_sasl_password_file:
            found.append(ok(f"[kafka] sasl.password.file {path}"))
        if path := situation.kafka.kafka_ssl_key_location:
            found.append(ok(f"[kafka] ssl.key.location {path}"))
    yield from found or [not_checked("no settings name a key or a token file")]


def _digest_keys(situation: Situation) -> Iterator[CheckResult]:
    ids = {}
    for process, settings in (("gateway", situation.gateway), ("stream", situation.stream)):
        if settings is None or settings.digest_key_file is None:
            continue
        try:
            ids[process] = DigestKey.read(settings.digest_key_file).key_id
        except SettingsError as error:
            yield _refused(f"[{process}] {error}", error)
            continue
        yield ok(f"[{process}] digest_key_file {settings.digest_key_file}")
    if len(ids) == 2 and len(set(ids.values())) == 2:
        yield warning(
            "gateway and stream have different digest keys", "give both the same digest_key_file, or leaks don't match each other"
        )


_SECRETS: tuple[tuple[str, str, Callable[[Path, str], object]], ...] = (
    ("page", "token_file", tokens.read),
    ("gateway", "admin_token_file", tokens.read),
    ("serve", "admin_token_file", tokens.read),
    ("serve", "reader_token_file", tokens.read),
    ("gateway", "ssl_key_location", require_private),
    ("gateway", "upstream_ssl_key_location", require_private),
)
"""Processes, their settings that name a secret file, and what reads each."""


def _secrets(situation: Situation) -> Iterator[CheckResult]:
    for process, name, read in _SECRETS:
        path = getattr(getattr(situation, process), name, None)
        if path is None:
            continue
        try:
            read(path, name)
        except SettingsError as error:
            yield _refused(f"[{process}] {error}", error)
        else:
            yield ok(f"[{process}] {name} {path}")


def _refused(text: str, error: SettingsError) -> CheckResult:
    hint = error.hint or "correct the setting, or put the file there"
    if hint.startswith("chmod"):
        return problem(text, "let only its owner use it", f"chmod 600 {quote(hint.removeprefix('chmod 600 '))}")
    return problem(text, hint)


def check_certificates(situation: Situation) -> Iterator[CheckResult]:
    """Certificates that settings name, and the days that are left."""
    kafka, gateway = situation.kafka, situation.gateway
    files = [
        ("kafka", "ssl.ca.location", kafka.kafka_ssl_ca_location),
        ("kafka", "ssl.certificate.location", kafka.kafka_ssl_certificate_location),
    ]
    if gateway:
        names = ("ssl_certificate_location", "ssl_ca_location", "upstream_ssl_ca_location", "upstream_ssl_certificate_location")
        files += [("gateway", name, getattr(gateway, name)) for name in names]
    named = [each for each in files if each[2] is not None]
    for process, name, path in named:
        yield _certificate(f"[{process}] {name}", path)
    if not named:
        yield not_checked("no settings name a certificate")


def _certificate(setting: str, path: Path | None) -> CheckResult:
    assert path is not None
    try:
        with path.open("rb") as file:
            chain = x509.load_pem_x509_certificates(file.read(_MOST_BYTES))
    except OSError as error:
        return problem(f"{setting} {path}: {error.strerror}", "put the certificate there, or correct the setting")
    except ValueError:
        return problem(f"{setting} {path}: no certificate in PEM", "put a certificate in PEM there")
    expires = min(one.not_valid_after_utc for one in chain)
    return expiry(f"{setting} {path}", expires, datetime.now(UTC))


def expiry(what: str, expires: datetime, now: datetime) -> CheckResult:
    """A certificate by the time that it is still valid."""
    days = (expires - now).total_seconds() / 86_400
    when = f"{expires:%Y-%m-%d %H:%M} UTC"
    if days < 0:
        return problem(f"{what}: expired on {when}", "replace the certificate; SIGHUP makes a gateway read its own again")
    if days < _SOON_DAYS:
        return warning(f"{what}: expires in {days:.0f} days, on {when}", "replace the certificate before")
    return ok(f"{what}: valid for {days:.0f} days, until {when}")
