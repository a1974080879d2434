"""TLS settings as an `ssl.SSLContext`, from files or from PEM text."""

from __future__ import annotations

import os
import re
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clientscope.errors import SettingsError

_BLOCK = re.compile(r"(-----BEGIN ([A-Z0-9 ]+)-----)([A-Za-z0-9+/=\s]*)(-----END \2-----)")


@dataclass(frozen=True)
class PemSource:
    """Where PEM comes from: the setting's key, and a file or the PEM itself."""

    key: str
    path: str = ""
    pem: str = ""

    def read(self) -> str:
        """The PEM.

        Raises:
            SettingsError: it can't be read, or isn't text.
        """
        if self.pem:
            return _wrapped(self.pem)
        try:
            return Path(self.path).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{self.key}: {self.path} can't be read as PEM: {type(error).__name__}") from None


@dataclass(frozen=True)
class Tls:
    """A client's TLS settings.

    Attributes:
        authority: the certificates to trust; the system's if None.
        any_anchor: whether any certificate of ``authority`` ends a chain, as in Java, and not only a root.
        certificate, key: the client's own; one file may hold both.
        password: the key's.
        crl: a file of revoked certificates.
        verify: whether the broker's certificate is checked.
        check_hostname: whether it must name the host that was connected to.
        ciphers: OpenSSL's list of them.
    """

    authority: PemSource | None = None
    any_anchor: bool = False
    certificate: PemSource | None = None
    key: PemSource | None = None
    password: str = ""
    crl: PemSource | None = None
    verify: bool = True
    check_hostname: bool = True
    ciphers: str = ""

    def context(self) -> ssl.SSLContext:
        """The SSLContext that kafka-python would build.

        Raises:
            SettingsError: what is no certificate or key, or can't be read, by its setting's key.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.check_hostname = self.verify and self.check_hostname
        if not self.verify:
            context.verify_mode = ssl.CERT_NONE
        if self.any_anchor:
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        if self.authority is None:
            context.load_default_certs()
        else:
            self._load_authority(context, self.authority)
        if self.certificate is not None:
            self._load_own(context, self.certificate, self.key)
        if self.crl is not None:
            with _readable(self.crl):
                context.load_verify_locations(cadata=None, cafile=self.crl.path)
            context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
        if self.ciphers:
            try:
                context.set_ciphers(self.ciphers)
            except ssl.SSLError:
                raise SettingsError("ssl.cipher.suites names no cipher that OpenSSL here has", "leave it out") from None
        return context

    @staticmethod
    def _load_authority(context: ssl.SSLContext, authority: PemSource) -> None:
        with _readable(authority):
            if authority.path and Path(authority.path).is_dir():
                context.load_verify_locations(capath=authority.path)
            else:
                context.load_verify_locations(cadata=authority.read())

    def _load_own(self, context: ssl.SSLContext, certificate: PemSource, key: PemSource | None) -> None:
        pem = certificate.read() if key is None else f"{key.read()}\n{certificate.read()}"
        encrypted = False

        def password() -> str:
            # Called only where the key is encrypted; without it OpenSSL would ask on the terminal.
            nonlocal encrypted
            encrypted = True
            return self.password

        with _as_file(pem) as path:
            try:
                context.load_cert_chain(path, password=password)
            except (OSError, ValueError) as error:
                source = certificate if key is None else key
                if encrypted:
                    raise SettingsError(
                        f"{source.key} can't be opened with ssl.key.password", "set ssl.key.password to the key's"
                    ) from None
                raise SettingsError(
                    f"{source.key}: no certificate with its key: {getattr(error, 'reason', None) or type(error).__name__}"
                ) from None


@contextmanager
def _readable(source: PemSource) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # ssl.SSLError among them
        raise SettingsError(f"{source.key}: no certificate in PEM: {getattr(error, 'reason', None) or type(error).__name__}") from None


def _wrapped(pem: str) -> str:
    """PEM with its line breaks: in a Java properties file it may be on one line, which Kafka takes and OpenSSL doesn't."""

    def wrapped(block: re.Match[str]) -> str:
        body = "".join(block[3].split())
        return "\n".join([block[1], *(body[at : at + 64] for at in range(0, len(body), 64)), block[4], ""])

    return _BLOCK.sub(wrapped, pem)


@contextmanager
def _as_file(pem: str) -> Iterator[str]:
    """A path to it for as long as OpenSSL reads, which takes keys from files alone; in memory where the system can."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("pem"), "w") as file:
            file.write(pem)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(pem)
            file.flush()
            yield file.name
