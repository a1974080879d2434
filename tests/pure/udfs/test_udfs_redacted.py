"""Redaction, typed settings, evidence."""

from __future__ import annotations

import json
from typing import Any

from golden import is_golden
from hypothesis import example, given
from hypothesis import strategies as st
from record_bytes import binaries, config_record, setting

from clientscope.catalog import sensitive
from clientscope.catalog.configs import TYPES, Type
from clientscope.catalog.value_states import ValueState
from clientscope.digest import DigestKey
from udfs.decode import decode_pushes, judged_pushes
from udfs.kernels.quarantine import with_evidence

KEY = DigestKey(b"k" * 32)
SECRET = "hunter2 \u00e9"


OTHER = DigestKey(b"o" * 32)
NEW = DigestKey(b"n" * 32, (OTHER,))
SHOWN: dict[Any, str] = {
    made: f"<{name}>"
    for name, key in (("ours", KEY), ("another's", OTHER), ("the newest's", NEW))
    for made in (key.digest(SECRET), key.key_id)
}
"""Digests of the secret, and ids of their keys, as the text has them."""
HIDDEN = [setting("AKIAIOSFODNN7EXAMPLE", number) for number in "12"]
RANDOM = "q7Rk2ZpX9vLm4TnB8sWc6YdH"


def under(key: DigestKey) -> Any:
    """What a gateway with this key redacted."""
    return setting("sasl.jaas.config", None, state=ValueState.KEY_PREFIX, digest=key.digest(SECRET))


RECORDS: dict[str, tuple[DigestKey | None, list[bytes]]] = {
    "a raw secret, and none": (KEY, [config_record(setting("ssl.key.password", SECRET), setting("acks", "0")), config_record()]),
    "without a key": (None, [config_record(setting("token", SECRET))]),
    "without a key, hidden keys are told apart by their place": (
        None, [config_record(setting("acks", "0"), *HIDDEN), config_record(*HIDDEN)],
    ),
    "under another key, never mixed with ours": (
        KEY, [config_record(under(OTHER), setting("token", SECRET), digest_key_id=OTHER.key_id)],
    ),
    "under a key that was replaced, and under the new one": (
        NEW, [config_record(under(OTHER), setting("token", SECRET), digest_key_id=OTHER.key_id), config_record(setting("token", SECRET))],
    ),
    "a value that came with a reason": (
        KEY, [config_record(setting("acks", SECRET, state=state)) for state in (ValueState.KEY_PREFIX, ValueState.VALUE_SHAPE)],
    ),
    "client ids, of which one is a credential": (
        KEY, [config_record(client_id=text) for text in ("AKIAIOSFODNN7EXAMPLE", "orders", None, "")],
    ),
    "what can't be decoded stays null": (KEY, [b"junk", b"", config_record(setting("token", SECRET))]),
    "keys of secrets that the record contains": (
        KEY, [
            config_record(
                setting("ssl.key.password", None, state=ValueState.KEY_PREFIX, length=3), setting("token", SECRET), setting("acks", "0"),
                setting("interceptor.classes", "org.x.Own", type=7), setting("sasl.password", ""),
            )
        ],
    ),
    "under a key that is hidden too, a password is a credential unless it is empty": (
        KEY, [
            config_record(setting(f"{of}.{RANDOM}", None, kind, state=ValueState.TYPE, length=length))
            for of, kind, length in (
                ("password", Type.STRING, 0), ("password", Type.STRING, 1), ("orders", Type.PASSWORD, 1), ("orders", Type.CLASS, 1),
            )
        ],
    ),
}  # fmt: skip


def test_what_is_redacted_and_how() -> None:
    text = ""
    for title, (key, records) in RECORDS.items():
        text += f"{title}\n"
        for row in decode_pushes(binaries(*records), key).to_pylist():
            key_id = row["digest_key_id"]
            text += f"  client {row['client_id']!r}, key {SHOWN.get(key_id, key_id)}, written {row['written']}\n"
            for each in row["configs"] or ():
                digest, state = each["value_digest"], ValueState(each["value_state"]).name
                shown = SHOWN.get(digest, digest and digest.hex())
                text += f"    {each['config_key']} = {each['config_value']!r}, {state}, {each['value_length']} bytes, digest {shown}\n"
    assert "hunter2" not in text and is_golden(text, __file__, "redacted.txt")


def test_evidence_is_length_and_digest() -> None:
    values = binaries(b"junk", config_record(), None)
    rows = with_evidence(decode_pushes, values, KEY).to_pylist()
    assert [row["length"] for row in rows] == [4, len(config_record()), 0]
    assert [row["digest"] for row in rows] == [KEY.digest("junk").hex(), None, KEY.digest("").hex()]
    without = with_evidence(decode_pushes, values, None)
    assert without.field("digest").null_count == len(values)


KEYS = st.sampled_from([*TYPES, "password", "a.token", "orders.region", "AKIAIOSFODNN7EXAMPLE"])
SHORT = st.integers(0, 10**9 - 1).map(str) | st.sampled_from(["", "a.B", "com.x.Y", "true", "pw", "${a}", "\u0663"])


@given(KEYS, SHORT, st.sampled_from([*Type]))
@example("buffer.memory.allocation.strategy", "a.B", Type.STRING)
def test_a_short_value_is_judged_as_any_other(key: str, value: str, of_type: Type) -> None:
    ((judged,), _) = judged_pushes(binaries(config_record(setting(key, value, of_type))), None)
    assert judged is not None
    assert (judged.settings is None) == (sensitive.reason(key, value, of_type) is ValueState.PRESENT)


def test_others_say_nothing_of_a_repeated_setting() -> None:
    said = json.loads(config_record(setting("acks", "1"), setting("acks", "0")))
    said["repeated"][0]["note"] = SECRET
    ((judged,), _) = judged_pushes(binaries(json.dumps(said).encode()), None)
    assert judged is not None and judged.settings is not None
    assert [(each.key, each.value, each.note) for each in judged.settings] == [("acks", "1", None), ("acks", "0", None)]
