"""Redaction, typed settings, evidence."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from record_bytes import binaries, config_record, setting

from clientscope.catalog import sensitive
from clientscope.catalog.configs import TYPES, Type
from clientscope.catalog.sensitive import Tier, tier
from clientscope.digest import DigestKey
from clientscope.records.enums import ValueState
from udfs.decode import decode_pushes, judged_pushes
from udfs.kernels.quarantine import with_evidence

KEY = DigestKey(b"k" * 32)
SECRET = "hunter2 \u00e9"


def redacted(*values: bytes | None, key: DigestKey | None = KEY) -> list[dict[str, Any]]:
    return decode_pushes(binaries(*values), key).to_pylist()


def test_a_raw_secret_is_replaced_by_its_digest() -> None:
    leak, innocent = redacted(config_record(setting("ssl.key.password", SECRET), setting("acks", "0")), config_record())
    hidden, acks = leak["configs"]
    assert hidden["config_value"] is None
    assert hidden["value_state"] == ValueState.KEY_PREFIX
    assert hidden["value_length"] == len(SECRET.encode())
    assert hidden["value_digest"] == KEY.digest(SECRET)
    assert leak["digest_key_id"] == KEY.key_id
    assert (acks["config_value"], acks["value_state"], acks["value_digest"]) == ("0", 0, None)
    assert innocent["digest_key_id"] is None


def test_without_a_key_there_is_no_digest() -> None:
    (leak,) = redacted(config_record(setting("token", SECRET)), key=None)
    assert leak["configs"][0]["value_digest"] is None
    assert leak["digest_key_id"] is None


def test_without_a_key_hidden_keys_are_told_apart_by_their_place() -> None:
    hidden = [setting("AKIAIOSFODNN7EXAMPLE", number) for number in "12"]
    first, second = redacted(config_record(setting("acks", "0"), *hidden), config_record(*hidden), key=None)
    assert [item["config_key"] for item in first["configs"]] == ["[redacted 1]", "acks", "[redacted 3]"]
    assert [item["config_key"] for item in second["configs"]] == ["[redacted 1]", "[redacted 2]"]


def test_digests_under_another_key_are_left_and_never_mixed_with_ours() -> None:
    other = DigestKey(b"o" * 32)
    theirs = setting("sasl.jaas.config", None, state=ValueState.KEY_PREFIX, digest=other.digest(SECRET))
    (record,) = redacted(config_record(theirs, setting("token", SECRET), digest_key_id=other.key_id))
    assert [item["value_digest"] for item in record["configs"]] == [other.digest(SECRET), None]
    assert record["digest_key_id"] == other.key_id


def test_a_record_under_a_key_that_was_replaced_stays_under_that_key() -> None:
    old, new = DigestKey(b"o" * 32), DigestKey(b"n" * 32, (DigestKey(b"o" * 32),))
    theirs = setting("sasl.jaas.config", None, state=ValueState.KEY_PREFIX, digest=old.digest(SECRET))
    before, fresh = redacted(
        config_record(theirs, setting("token", SECRET), digest_key_id=old.key_id), config_record(setting("token", SECRET)), key=new
    )
    assert [item["value_digest"] for item in before["configs"]] == [old.digest(SECRET)] * 2
    assert before["digest_key_id"] == old.key_id
    assert fresh["configs"][0]["value_digest"] == new.digest(SECRET) != old.digest(SECRET)
    assert fresh["digest_key_id"] == new.key_id


@pytest.mark.parametrize("state", [ValueState.KEY_PREFIX, ValueState.VALUE_SHAPE])
def test_a_value_that_came_with_a_reason_is_taken_out(state: ValueState) -> None:
    (record,) = redacted(config_record(setting("acks", SECRET, state=state)))
    assert record["configs"][0]["config_value"] is None
    assert record["configs"][0]["value_state"] == state


def test_a_client_id_that_is_a_credential_is_taken_out() -> None:
    bad, *others = redacted(*(config_record(client_id=text) for text in ("AKIAIOSFODNN7EXAMPLE", "orders", None, "")))
    assert bad["client_id"] == f"[redacted {KEY.digest('AKIAIOSFODNN7EXAMPLE').hex()[:16]}]"
    assert [other["client_id"] for other in others] == ["orders", None, ""]


def test_what_can_not_be_decoded_stays_null() -> None:
    bad, good = redacted(b"junk", config_record(setting("token", SECRET)))
    assert bad["configs"] is None
    assert good["configs"][0]["config_value"] is None


def test_evidence_is_length_and_digest() -> None:
    values = binaries(b"junk", config_record(), None)
    rows = with_evidence(decode_pushes, values, KEY).to_pylist()
    assert [row["length"] for row in rows] == [4, len(config_record()), 0]
    assert [row["digest"] for row in rows] == [KEY.digest("junk").hex(), None, KEY.digest("").hex()]
    without = with_evidence(decode_pushes, values, None)
    assert without.field("digest").null_count == len(values)


def test_states_that_no_gateway_writes_are_credentials() -> None:
    assert [tier(state, "acks", 1, length) for state, length in ((-1, None), (99, 3))] == [Tier.CREDENTIAL] * 2


def test_keys_of_secrets_that_the_record_contains_are_written() -> None:
    by_gateway = setting("ssl.key.password", None, state=ValueState.KEY_PREFIX, length=3)
    own = setting("token", SECRET), setting("acks", "0"), setting("interceptor.classes", "org.x.Own", type=7), setting("sasl.password", "")
    rows = redacted(config_record(by_gateway, *own), b"")
    assert [row["written"] for row in rows] == [["token"], None]


@pytest.mark.parametrize(
    ("key", "of_type", "length", "state"),
    [
        ("password.q7Rk2ZpX9vLm4TnB8sWc6YdH", Type.STRING, 0, ValueState.LOOKS_RANDOM),
        ("password.q7Rk2ZpX9vLm4TnB8sWc6YdH", Type.STRING, 1, ValueState.VALUE_SHAPE),
        ("orders.q7Rk2ZpX9vLm4TnB8sWc6YdH", Type.PASSWORD, 1, ValueState.VALUE_SHAPE),
        ("orders.q7Rk2ZpX9vLm4TnB8sWc6YdH", Type.CLASS, 1, ValueState.LOOKS_RANDOM),
    ],
)
def test_under_a_key_that_is_hidden_too_a_password_is_a_credential_unless_it_is_empty(
    key: str, of_type: Type, length: int, state: ValueState
) -> None:
    by_gateway = setting(key, None, of_type, state=ValueState.TYPE, length=length)
    (record,) = redacted(config_record(by_gateway))
    assert [(item["value_state"], item["value_length"]) for item in record["configs"]] == [(state, length)]


KEYS = st.sampled_from([*TYPES, "password", "a.token", "orders.region", "AKIAIOSFODNN7EXAMPLE"])
SHORT = st.integers(0, 10**9 - 1).map(str) | st.sampled_from(["", "a.B", "com.x.Y", "true", "pw", "${a}", "\u0663"])


@given(KEYS, SHORT, st.sampled_from([*Type]))
@example("buffer.memory.allocation.strategy", "a.B", Type.STRING)
def test_a_short_value_is_judged_as_any_other(key: str, value: str, of_type: Type) -> None:
    ((judged,), _) = judged_pushes(binaries(config_record(setting(key, value, of_type))), None)
    assert judged is not None
    assert (judged.settings is None) == (sensitive.reason(key, value, of_type) is ValueState.PRESENT)
