"""policy: sensitive values are removed before anything is published, and their owner is informed."""

from __future__ import annotations

import hmac
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from private_files import private
from refusals import refused
from request_contexts import CONTEXT, INSTANCE

from clientscope.digest import DigestKey
from clientscope.errors import InvalidConfigException
from clientscope.gateway.policy.process import load_policy
from clientscope.model.codec import decode
from clientscope.model.push import Push
from clientscope.model.setting import Setting
from clientscope.policy.interface import ClientConfig, ClientConfigData, RequestContext
from clientscope.policy.publishing import PublishingPolicy

SECRET = 'x.PlainLoginModule required username="u" password="hunter2";'


def published(configs: list[ClientConfig], key_file: Path | None = None, context: RequestContext = CONTEXT) -> tuple[Any, str, str | None]:
    """The record, its key, and what the policy refused with."""
    sent: list[tuple[str, str, bytes]] = []

    def publish(topic: str, key: str, value: bytes) -> None:
        sent.append((topic, key, value))

    policy = PublishingPolicy()
    policy.configure({"clientscope.publish": publish, "clientscope.digest.key.file": key_file})
    refusal = None
    try:
        policy.process(context, ClientConfigData(tuple(configs), 5))
    except InvalidConfigException as error:
        refusal = str(error)
    ((topic, key, value),) = sent
    assert topic == "clientscope.configs"
    assert b"hunter2" not in value
    return decode(Push, value), key, refusal


def test_a_harmless_push_is_published_as_it_is() -> None:
    record, key, refusal = published([ClientConfig("acks", "all", 1, True)])
    assert refusal is None
    assert key == CONTEXT.client_key and key.startswith(f"{INSTANCE}/")
    (config,) = record.listed()
    assert config == Setting("acks", "all", "default", "string")


def test_a_secret_is_redacted_and_refused_with_its_key_and_reason_but_not_its_value(tmp_path: Path) -> None:
    key_file = private(tmp_path / "digest.key", "k" * 64)
    record, _, refusal = published([ClientConfig("acks", "0", 1, False), ClientConfig("sasl.jaas.config", SECRET, 8, False)], key_file)
    harmless, secret = record.listed()
    assert harmless.value == "0"
    assert (secret.value, secret.redacted.reason, secret.redacted.length) == (None, "key_prefix", len(SECRET))
    assert secret.redacted.digest == hmac.digest(b"k" * 64, SECRET.encode(), "sha256").hex()
    assert record.digest_key_id == DigestKey(b"k" * 64).key_id
    assert refusal is not None and "sasl.jaas.config (key prefix)" in refusal and "hunter2" not in refusal


def test_a_setting_that_no_library_has_is_redacted_and_named() -> None:
    pushed = [("acks", "0"), ("app.contact", "jane@example.com"), ("metric.reporters", "com.acme.Reporter"), ("ｐａｓｓｗｏｒｄ", "x")]
    record, _, refusal = published([ClientConfig(key, value, 1, False) for key, value in pushed])
    assert [config.value for config in record.listed()] == ["0", None, None, None]
    assert refusal is not None and "app.contact (custom), metric.reporters (type), ｐａｓｓｗｏｒｄ (custom)" in refusal


def test_f34_names_and_keys_that_are_secrets_are_redacted_and_the_key_is_named_by_its_place() -> None:
    """Whoever runs the policy: the gateway's registry has judged names already."""
    secret = "svc-AKIAIOSFODNN7EXAMPLE"
    who = replace(CONTEXT, principal=secret, client_id=secret, software_name=secret, software_version=secret)
    record, _, refusal = published(
        [ClientConfig("acks", "0", 1, False), ClientConfig("sasl.password = hunter2", "", 1, False)], context=who
    )
    assert {record.principal, record.client_id, record.software_name, record.software_version} == {"[redacted]"}
    assert [config.key for config in record.listed()] == ["acks", "[redacted 2]"]
    assert refusal is not None and "setting 2 by its name (value shape)" in refusal and "hunter2" not in refusal


def test_f34_a_log_line_of_a_push_has_no_value_and_no_secret_key() -> None:
    pushed = ClientConfigData((ClientConfig("acks", "all", 1, True), ClientConfig("sasl.password = hunter2", SECRET, 1, False)), 5)
    assert "'acks', 3 characters" in repr(pushed) and "'[redacted]'" in repr(pushed)
    assert "hunter2" not in f"{pushed} {pushed.configs}"


OLD, NEW = "a1" * 32, "b2" * 32


def test_the_first_key_signs_and_the_others_are_known(tmp_path: Path) -> None:
    before = DigestKey.read(private(tmp_path / "digest.key", f"{OLD}\n"))
    after = DigestKey.read(private(tmp_path / "digest.key", f"{NEW}\n\n  {OLD}  \n", 0o640))  # a group may share it
    assert OLD not in repr(after) and NEW not in repr(after)
    assert after.key_id == DigestKey(NEW.encode()).key_id != before.key_id
    assert after.digest("hunter2") != before.digest("hunter2")
    (known,) = after.earlier
    assert (known.key_id, known.digest("hunter2")) == (before.key_id, before.digest("hunter2"))


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        ("abc", 0o600, "key 1 has 3 bytes, needs 32"),
        (f"{NEW}\nabc\n", 0o600, "key 2 has 3 bytes, needs 32"),
        (" \n", 0o600, "it is empty"),
        ("é" * 20, 0o600, "key 1 isn't printable ASCII"),
        (f"{NEW}\n{NEW}\n", 0o600, "key 2 is there twice"),
        (NEW, 0o604, "every user of this machine may use it"),
        (NEW, 0o602, "every user of this machine may use it"),
    ],
)
def test_f39_a_key_file_that_is_wrong_or_open_to_all_is_an_error(tmp_path: Path, text: str, mode: int, message: str) -> None:
    with refused(message) as caught:
        DigestKey.read(private(tmp_path / "digest.key", text, mode))
    assert caught.value.hint
    assert NEW not in str(caught.value)


def test_a_missing_key_file_is_an_error(tmp_path: Path) -> None:
    with refused("No such file"):
        DigestKey.read(tmp_path / "none")


def test_by_its_dotted_name() -> None:
    assert load_policy("clientscope.policy.publishing.PublishingPolicy") is PublishingPolicy


@pytest.mark.parametrize("name", ["nowhere.Policy", "clientscope.policy.interface.Nothing", "pathlib.Path", "x", ".x"])
def test_what_is_no_policy_is_an_error(name: str) -> None:
    with refused("client_config_policy_class_name"):
        load_policy(name)


def test_an_import_that_raises_is_an_error_without_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "raising_policy.py").write_text("raise RuntimeError('hunter2')")
    monkeypatch.syspath_prepend(tmp_path)
    with refused("importing it raised RuntimeError") as caught:
        load_policy("raising_policy.Policy")
    assert "hunter2" not in str(caught.value)
