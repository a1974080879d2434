"""TLS of each dialect's client, shaken hands with."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from connection_refusals import SECRET, refusal

from clientscope.client.connection_settings import connection_settings


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate for 127.0.0.1 that signs itself, its key, and the key under a password."""
    home = tmp_path_factory.mktemp("pem")

    def openssl(*arguments: str) -> None:
        subprocess.run(["/usr/bin/openssl", *arguments], check=True, capture_output=True, cwd=home)

    openssl(
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=here", "-addext", "subjectAltName=IP:127.0.0.1",
        "-keyout", "plain.key", "-out", "own.crt",
    )  # fmt: skip
    openssl("pkcs8", "-topk8", "-in", "plain.key", "-passout", f"pass:{SECRET}", "-out", "locked.key")
    both = (home / "plain.key").read_text() + (home / "own.crt").read_text()
    (home / "both.pem").write_text(both)
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=leaf", "-keyout", "leaf.key", "-out", "leaf.csr")
    (home / "leaf.ext").write_text("subjectAltName=IP:127.0.0.1")
    openssl(
        "x509", "-req", "-in", "leaf.csr", "-CA", "own.crt", "-CAkey", "plain.key", "-CAcreateserial", "-days", "2", "-extfile", "leaf.ext",
        "-out", "leaf.crt",
    )  # fmt: skip
    (home / "leaf.pem").write_text((home / "leaf.key").read_text() + (home / "leaf.crt").read_text())
    (home / "trust.jks").write_bytes(b"\xfe\xed\xfe\xed")
    return home


def on_one_line(path: Path) -> str:
    return " ".join(path.read_text().split("\n"))


def test_a_java_store_is_refused_with_the_command_that_converts_it(pem: Path) -> None:
    jks = str(pem / "trust.jks")
    trust = refusal("java", {"security.protocol": "SSL", "ssl.truststore.location": jks, "ssl.truststore.password": SECRET})
    assert f"keytool -exportcert -rfc -keystore {jks}" in str(trust.hint)
    own = {"security.protocol": "SSL", "ssl.keystore.location": jks, "ssl.key.password": SECRET}
    assert f"keytool -importkeystore -srckeystore {jks}" in str(refusal("java", own).hint)
    assert str(refusal("java", {**own, "ssl.keystore.type": "PKCS12"}).hint).startswith(f"convert it by `openssl pkcs12 -in {jks}")


def java_files(pem: Path) -> dict[str, Any]:
    return {
        "ssl.truststore.type": "PEM", "ssl.truststore.location": str(pem / "own.crt"),
        "ssl.keystore.type": "PEM", "ssl.keystore.location": str(pem / "both.pem"),
    }  # fmt: skip


def java_inline(pem: Path) -> dict[str, Any]:
    return {
        "ssl.truststore.type": "PEM", "ssl.truststore.certificates": on_one_line(pem / "own.crt"),
        "ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": on_one_line(pem / "own.crt"),
        "ssl.keystore.key": on_one_line(pem / "locked.key"), "ssl.key.password": SECRET,
    }  # fmt: skip


def librdkafka_files(pem: Path) -> dict[str, Any]:
    return {
        "ssl.ca.location": str(pem / "own.crt"), "ssl.certificate.location": str(pem / "own.crt"),
        "ssl.key.location": str(pem / "locked.key"), "ssl.key.password": SECRET,
    }  # fmt: skip


def librdkafka_inline(pem: Path) -> dict[str, Any]:
    certificate = (pem / "own.crt").read_text()
    return {"ssl.ca.pem": certificate, "ssl.certificate.pem": certificate, "ssl.key.pem": (pem / "plain.key").read_text()}


Made = Callable[[Path], dict[str, Any]]
TLS: list[tuple[str, Made]] = [
    ("java", java_files), ("java", java_inline), ("librdkafka", librdkafka_files), ("librdkafka", librdkafka_inline),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "made"), TLS)
def test_tls_with_a_certificate_of_its_own(pem: Path, dialect: str, made: Made) -> None:
    context = connection_settings(dialect, {"security.protocol": "SSL", **made(pem)})["ssl_context"]
    assert subject_that_a_server_sees(pem, context, "127.0.0.1") == "here"
    with pytest.raises(ssl.SSLCertVerificationError, match="not valid for"):
        subject_that_a_server_sees(pem, context, "localhost")


def test_tls_where_the_system_has_no_files_in_memory(pem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    context = connection_settings("java", {"security.protocol": "SSL", **java_inline(pem)})["ssl_context"]
    assert subject_that_a_server_sees(pem, context, "127.0.0.1") == "here"


@pytest.mark.parametrize(("dialect", "made"), TLS)
def test_tls_without_looking_at_the_name(pem: Path, dialect: str, made: Made) -> None:
    algorithm = {"java": "", "librdkafka": "none"}[dialect]
    settings = {"security.protocol": "SSL", **made(pem), "ssl.endpoint.identification.algorithm": algorithm}
    context = connection_settings(dialect, settings)["ssl_context"]
    assert subject_that_a_server_sees(pem, context, "localhost") == "here"


def test_tls_that_trusts_the_system_or_nobody(pem: Path) -> None:
    for dialect in ("java", "librdkafka"):
        context = connection_settings(dialect, {"security.protocol": "SSL"})["ssl_context"]
        with pytest.raises(ssl.SSLCertVerificationError):
            subject_that_a_server_sees(pem, context, "127.0.0.1", ask=False)
    careless = {"security.protocol": "SSL", "enable.ssl.certificate.verification": False}
    context = connection_settings("librdkafka", careless)["ssl_context"]
    assert subject_that_a_server_sees(pem, context, "localhost", ask=False) == ""


def test_java_trusts_every_certificate_of_its_trust_store_and_librdkafka_only_roots(pem: Path) -> None:
    leaf = str(pem / "leaf.crt")
    java = {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": leaf}
    context = connection_settings("java", java)["ssl_context"]
    assert subject_that_a_server_sees(pem, context, "127.0.0.1", ask=False, own="leaf.pem") == ""
    context = connection_settings("librdkafka", {"security.protocol": "SSL", "ssl.ca.location": leaf})["ssl_context"]
    with pytest.raises(ssl.SSLCertVerificationError):
        subject_that_a_server_sees(pem, context, "127.0.0.1", ask=False, own="leaf.pem")


def test_a_wrong_password_of_a_key_is_said_without_it(pem: Path) -> None:
    for given in ({"ssl.key.password": f"{SECRET}-not"}, {}):
        settings = {**librdkafka_files(pem), **given}
        if not given:
            del settings["ssl.key.password"]
        assert "ssl.key.password" in str(refusal("librdkafka", {"security.protocol": "SSL", **settings}))
    assert "ssl.key.location" in str(
        refusal("librdkafka", {"security.protocol": "SSL", **librdkafka_files(pem), "ssl.key.location": str(pem / "own.crt")})
    )


def test_kafkajs_gives_authorities_as_a_list_and_may_trust_anybody(pem: Path) -> None:
    ours = (pem / "own.crt").read_text()
    context = connection_settings("kafkajs", {"brokers": ["a:1"], "ssl.ca": [(pem / "leaf.crt").read_text(), ours]})["ssl_context"]
    assert subject_that_a_server_sees(pem, context, "127.0.0.1", ask=False) == ""
    careless = connection_settings("kafkajs", {"brokers": ["a:1"], "ssl": True, "ssl.rejectUnauthorized": False})["ssl_context"]
    assert subject_that_a_server_sees(pem, careless, "localhost", ask=False) == ""


def subject_that_a_server_sees(pem: Path, context: ssl.SSLContext, name: str, ask: bool = True, own: str = "both.pem") -> str:
    """Has a server of TLS ask for a certificate; the common name in it.  Raises what the client raises."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem / own)
    server.load_verify_locations(pem / "own.crt")
    server.verify_mode = ssl.CERT_REQUIRED if ask else ssl.CERT_NONE
    seen: list[Any] = []

    def serve(one: socket.socket) -> None:
        try:
            with server.wrap_socket(one, server_side=True) as connected:
                seen.append(connected.getpeercert())
                connected.sendall(b"x")
        except (OSError, ValueError):
            one.close()

    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=serve, args=(theirs,))
    thread.start()
    try:
        with context.wrap_socket(ours, server_hostname=name) as client:
            client.recv(1)
    finally:
        ours.close()
        thread.join()
    return dict(pair[0] for pair in seen[0]["subject"])["commonName"] if seen[0] else ""
