"""Certificates for tests, by the openssl command: an authority, and what it signs."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from programs import ran


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, both in PEM."""

    certificate: Path
    key: Path

    @property
    def both(self) -> Path:
        """One file with key and certificate, as Kafka's PEM keystores are."""
        path = self.certificate.with_suffix(".pem")
        path.write_text(self.key.read_text() + self.certificate.read_text())
        return path

    def flags(self, prefix: str = "--ssl") -> list[str]:
        """The gateway's flags."""
        return [f"{prefix}-certificate-location", str(self.certificate), f"{prefix}-key-location", str(self.key)]


class Authority:
    """Signs certificates; its own is ``certificate``."""

    def __init__(self, home: Path, name: str = "authority") -> None:
        self._home = home
        home.mkdir(parents=True, exist_ok=True)
        self.certificate, self._key = home / f"{name}.crt", home / f"{name}.key"
        ran(
            "/usr/bin/openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
            "-keyout", self._key, "-out", self.certificate,
        )  # fmt: skip

    @property
    def context(self) -> ssl.SSLContext:
        """Of a client that trusts it."""
        return ssl.create_default_context(cafile=str(self.certificate))

    def sign(self, name: str, subject: str = "/CN=localhost", san: str = "IP:127.0.0.1", days: int = 2) -> Pair:
        """A new pair; with ``days`` -1 the certificate has expired."""
        pair = Pair(self._home / f"{name}.crt", self._home / f"{name}.key")
        request, extensions = self._home / f"{name}.csr", self._home / f"{name}.ext"
        extensions.write_text(f"subjectAltName={san}\nbasicConstraints=critical,CA:FALSE\n")
        ran("/usr/bin/openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", pair.key, "-out", request)
        ran(
            "/usr/bin/openssl", "x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial",
            "-days", str(days), "-extfile", extensions, "-out", pair.certificate,
        )  # fmt: skip
        pair.key.chmod(0o600)
        return pair
