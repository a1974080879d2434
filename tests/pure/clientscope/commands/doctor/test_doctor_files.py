"""Checks of keys, tokens and certificates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from certificates import Authority

from clientscope.commands.doctor.files import check_certificates, check_files, expiry
from clientscope.commands.doctor.result import Outcome
from clientscope.commands.doctor.situation import Situation
from clientscope.config import GatewaySettings, KafkaSettings, PageSettings, ServeSettings, StreamSettings

KEY, OTHER, TOKEN = "CNRYKEY0" * 5, "CNRYKEY1" * 5, "CNRYTOKEN" * 3


def secret(path: Path, text: str, mode: int = 0o600) -> Path:
    path.touch(mode=0o600)
    path.write_text(text)
    path.chmod(mode)
    return path


class PageOf(PageSettings):
    """The page's settings alone."""

    section = "page"


def test_files(tmp_path: Path) -> None:
    key, token = secret(tmp_path / "digest.key", KEY), secret(tmp_path / "to ken", f"ann {TOKEN}")
    gateway = GatewaySettings(digest_key_file=key, admin_token_file=token, ssl_key_location=secret(tmp_path / "tls.key", "x"))
    stream, serve = StreamSettings(digest_key_file=key), ServeSettings(reader_token_file=token)
    everything = Situation(KafkaSettings(), gateway, stream, serve, PageOf(token_file=token))
    assert {each.outcome for each in check_files(everything)} == {Outcome.OK}
    assert everything.access is not None
    token.chmod(0o644)
    found = [each for each in check_files(everything) if each.outcome is Outcome.PROBLEM]
    assert [each.text.split()[0] for each in found] == ["[page]", "[gateway]", "[serve]"]
    assert {each.command for each in found} == {f"chmod 600 '{token}'"}
    key.unlink()
    found = [each for each in check_files(everything) if "digest" in each.text]
    assert {each.outcome for each in found} == {Outcome.PROBLEM} and "No such file" in found[0].text
    assert "CNRY" not in repr(found)


def test_two_digest_keys(tmp_path: Path) -> None:
    gateway = GatewaySettings(digest_key_file=secret(tmp_path / "a", KEY))
    stream = StreamSettings(digest_key_file=secret(tmp_path / "b", OTHER))
    (found,) = (each for each in check_files(Situation(KafkaSettings(), gateway, stream, None, None)) if each.outcome is Outcome.WARNING)
    assert found.text == "gateway and stream have different digest keys"


def test_the_password_of_kafka(tmp_path: Path) -> None:
    kafka = KafkaSettings(
        kafka_security_protocol="SASL_SSL", kafka_sasl_mechanism="PLAIN", kafka_sasl_username="me",
        kafka_sasl_password_file=secret(tmp_path / "password", "CNRYPASSWORD", 0o644),
    )  # fmt: skip
    situation = Situation(kafka, None, None, None, None)
    (found,) = check_files(situation)
    assert (found.outcome, found.command, situation.access) == (Outcome.PROBLEM, f"chmod 600 {tmp_path}/password", None)
    (tmp_path / "password").chmod(0o600)
    assert [each.outcome for each in check_files(situation)] == [Outcome.OK]
    assert situation.access is not None


def test_nothing_named() -> None:
    nothing = Situation(KafkaSettings(), GatewaySettings(), StreamSettings(), ServeSettings(), None)
    assert [each.outcome for each in (*check_files(nothing), *check_certificates(nothing))] == [Outcome.NOT_CHECKED] * 2


@pytest.mark.parametrize(
    ("days", "outcome", "words"),
    [(-0.5, Outcome.PROBLEM, "expired on"), (7, Outcome.WARNING, "expires in 7 days"), (90, Outcome.OK, "valid for 90 days")],
)
def test_expiry(days: float, outcome: Outcome, words: str) -> None:
    now = datetime(2026, 5, 1, tzinfo=UTC)
    found = expiry("x", now + timedelta(days=days), now)
    assert found.outcome is outcome and words in found.text


def test_certificates(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    (tmp_path / "no.pem").write_text("nothing")
    gateway = GatewaySettings(
        ssl_certificate_location=authority.sign("old", days=-1).certificate,
        ssl_ca_location=authority.certificate,
        upstream_ssl_ca_location=tmp_path / "no.pem",
        upstream_ssl_certificate_location=tmp_path / "gone.pem",
    )
    found = list(check_certificates(Situation(KafkaSettings(), gateway, None, None, None)))
    assert [each.outcome for each in found] == [Outcome.PROBLEM, Outcome.WARNING, Outcome.PROBLEM, Outcome.PROBLEM]
    expected = ("expired", "expires in 2 days", "no certificate", "No such file")
    assert all(words in each.text for each, words in zip(found, expected, strict=True))
