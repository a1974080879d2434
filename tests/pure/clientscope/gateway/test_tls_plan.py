"""Combinations of TLS: those that work, those that are refused, and the notes on the rest."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
from private_files import private
from refusals import refused

from clientscope.config import GatewaySettings
from clientscope.gateway import tls
from clientscope.gateway.tls import ClientAuth, TlsPlan, distinguished_name
from clientscope.gateway.worker.listener import failure

OWN: dict[str, Any] = {"ssl_certificate_location": "c", "ssl_key_location": "k"}
CLIENT_CA: dict[str, Any] = {"ssl_ca_location": "ca"}
UPSTREAM: dict[str, Any] = {"upstream_ssl_ca_location": "ca"}
UPSTREAM_OWN: dict[str, Any] = {"upstream_ssl_certificate_location": "c", "upstream_ssl_key_location": "k"}


def plan(listener: str, client_auth: ClientAuth = ClientAuth.UNKNOWN, **given: Any) -> TlsPlan:
    return tls.plan(GatewaySettings(**given), listener, client_auth)


@pytest.mark.parametrize("sasl", ["", "SASL_"])
@pytest.mark.parametrize(
    ("listener", "given", "clients", "what"),
    [
        ("PLAINTEXT", {}, "PLAINTEXT", (False, False, False)),
        ("SSL", {}, "SSL", (False, False, True)),
        ("PLAINTEXT", OWN, "SSL", (True, False, False)),
        ("SSL", OWN | UPSTREAM, "SSL", (True, True, False)),
        ("SSL", UPSTREAM, "PLAINTEXT", (False, True, False)),
    ],
)
def test_what_works(sasl: str, listener: str, given: dict[str, Any], clients: str, what: tuple[bool, ...]) -> None:
    made = plan(sasl + listener, **given)
    assert (made.ends_here, made.upstream, made.passes) == what
    assert made.clients == sasl + clients


@pytest.mark.parametrize(
    ("listener", "client_auth", "given", "said"),
    [
        ("SSL", ClientAuth.NONE, OWN, "nothing says how to trust the broker"),
        ("SASL_PLAINTEXT", ClientAuth.NONE, UPSTREAM, "the broker's listener speaks SASL_PLAINTEXT"),
        ("SSL", ClientAuth.REQUIRED, OWN | UPSTREAM, "requires a client certificate"),
        ("PLAINTEXT", ClientAuth.NONE, {"ssl_certificate_location": "c"}, "without ssl_key_location"),
        ("PLAINTEXT", ClientAuth.NONE, {"ssl_key_location": "c"}, "without ssl_certificate_location"),
        ("PLAINTEXT", ClientAuth.NONE, CLIENT_CA, "ssl_ca_location is set without"),
        ("SSL", ClientAuth.NONE, UPSTREAM_OWN, "without upstream_ssl_ca_location"),
    ],
)
def test_what_cant_work_is_refused(listener: str, client_auth: ClientAuth, given: dict[str, Any], said: str) -> None:
    with refused(said) as caught:
        plan(listener, client_auth, **given)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("listener", "client_auth", "given", "said"),
    [
        ("SSL", ClientAuth.REQUIRED, {}, "counted by address alone"),
        ("PLAINTEXT", ClientAuth.NONE, OWN | CLIENT_CA, "the broker sees User:ANONYMOUS for all of them"),
        ("SSL", ClientAuth.REQUIRED, OWN | CLIENT_CA | UPSTREAM | UPSTREAM_OWN, "the broker sees the gateway's own certificate for all"),
        ("SSL", ClientAuth.REQUESTED, OWN | UPSTREAM, "sees User:ANONYMOUS for every client"),
        ("SASL_SSL", ClientAuth.NONE, UPSTREAM, "credentials to the gateway in plain text"),
        ("SASL_SSL", ClientAuth.NONE, OWN | UPSTREAM | CLIENT_CA, ""),
        ("PLAINTEXT", ClientAuth.NONE, {}, ""),
    ],
)
def test_what_should_be_known_is_said(listener: str, client_auth: ClientAuth, given: dict[str, Any], said: str) -> None:
    warnings = plan(listener, client_auth, **given).warnings
    assert len(warnings) == bool(said)
    assert said in "".join(warnings)


def test_a_key_that_everybody_can_read_is_refused(tmp_path: Path) -> None:
    key = private(tmp_path / "key.pem", "x", 0o644)
    with refused(r"every user of this machine may use it \(-rw-r--r--\)"):
        tls.load(GatewaySettings(ssl_certificate_location=tmp_path / "c", ssl_key_location=key))
    key.chmod(0o600)
    with refused(r"ssl_certificate_location .*: No such file"):
        tls.load(GatewaySettings(ssl_certificate_location=tmp_path / "c", ssl_key_location=key))
    (tmp_path / "c").write_text("nothing")
    with refused("not usable as PEM"):
        tls.load(GatewaySettings(ssl_certificate_location=tmp_path / "c", ssl_key_location=key))


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ((("countryName", "DE"),), "C=DE"),
        ((("organizationName", 'A, "B" + C'), ("commonName", "x")), r"O=A\, \"B\" \+ C+CN=x"),
        ((("commonName", " #a\\;<> "),), "CN=\\ #a\\\\\\;\\<\\>\\ "),
        ((("commonName", "#a"),), r"CN=\#a"),
        ((("commonName", " "),), r"CN=\ "),
    ],
)
def test_a_subject_is_spelled_as_kafka_spells_it(subject: tuple[tuple[str, str], ...], name: str) -> None:
    assert distinguished_name({"subject": (subject,)}) == name
    assert distinguished_name({"subject": (subject, (("commonName", "last"),))}) == f"CN=last,{name}"


def test_a_handshakes_failure_in_a_word() -> None:
    error = ssl.SSLError(1, "text")
    assert failure(error) == "unknown"
    error.reason = "UNSUPPORTED_PROTOCOL"
    assert failure(error) == "unsupported_protocol"
    assert failure(TimeoutError()) == "timeout"
    assert failure(ConnectionResetError()) == "connection_lost"
