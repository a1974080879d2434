"""Combinations of TLS: those that work, those that are refused, and the notes on the rest."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
from golden import cases
from private_files import private
from refusals import refused

from clientscope.config import GatewaySettings
from clientscope.gateway import tls
from clientscope.gateway.tls import ClientAuth, distinguished_name
from clientscope.gateway.worker.listener import failure

FILES: dict[str, dict[str, Any]] = {
    "certificate": {"ssl_certificate_location": "c"}, "key": {"ssl_key_location": "k"}, "client_ca": {"ssl_ca_location": "ca"},
    "own": {"ssl_certificate_location": "c", "ssl_key_location": "k"}, "upstream_ca": {"upstream_ssl_ca_location": "ca"},
    "upstream_own": {"upstream_ssl_certificate_location": "c", "upstream_ssl_key_location": "k"},
}  # fmt: skip


@pytest.mark.parametrize(("asked", "expected"), cases(__file__, "tls_plans.txt"))
def test_what_works_what_is_refused_and_what_should_be_known(asked: str, expected: str) -> None:
    listener, *words = asked.split()
    asks = [each for each in ClientAuth if each.value in words]
    settings = GatewaySettings(**{name: path for word in words if word in FILES for name, path in FILES[word].items()})
    what, _, text = expected.partition(": ")
    if what == "refused":
        with refused(text) as caught:
            tls.plan(settings, listener, *asks)
        assert caught.value.hint
        return
    made = tls.plan(settings, listener, *(asks or [ClientAuth.UNKNOWN]))
    if what == "warned":
        assert [text in each for each in made.warnings] == [True]
    else:
        assert made.clients + " passes" * made.passes == expected
        assert not (asks and made.warnings)


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
