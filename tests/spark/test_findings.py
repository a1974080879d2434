"""Records of both topics to the inputs of findings, inside Spark."""

from __future__ import annotations

import json

from record_bytes import Records, config_record, connection_record, setting

from clientscope.digest import DigestKey
from clientscope.records.enums import Kind
from clientscope.records.topics import CONFIGS, CONNECTIONS
from streaming.transforms import arrivals, received

SECRET = "hunter2-canary"


def test_pushes_and_events_arrive_from_one_read(records: Records, digest_key: DigestKey) -> None:
    leak = config_record(
        setting("acks", "0"), setting("token", SECRET), setting("linger.ms", "5"), client_id="orders-3", principal="User:a"
    )
    newer = config_record(setting("acks", "all"), client_id="orders-3", principal="User:a")
    events = (
        connection_record(0),
        connection_record(1, kind=Kind.IDENTIFIED, client_id="orders-3", requested_versions=((1, 3),)),
        b"junk",
        connection_record(2, kind=Kind.HEARTBEAT, connection_id=-1),
    )
    both = records(CONFIGS, leak, None, b"junk", newer, newer).union(records(CONNECTIONS, *events))
    rows = received(arrivals(both, digest_key)).to_pylist()
    pushes = [row for row in rows if row["kind"] is None]
    assert [row["offset"] for row in pushes] == [0, 4], "a client's newest push, and each with a secret"
    assert {row["application"] for row in pushes} == {'["User:a","orders",null]'}
    settings = json.loads(pushes[0]["settings"])
    assert (settings["acks"], settings["linger.ms"], settings["token"][:3]) == ("0", "5", ["redacted", "key_word", len(SECRET)])
    assert json.loads(pushes[0]["written"]) == ["token"]
    assert {"SK001", "AN101"} <= {rule["code"] for rule in json.loads(pushes[0]["rules"])}
    assert [(row["kind"], row["offset"], row["client_id"]) for row in rows if row["kind"] is not None] == [
        ("identified", 1, "orders-3"),
        ("heartbeat", 3, None),
    ]
    assert [row["requested"] for row in rows if row["kind"] == "identified"] == [b"\0\1\0\3"]
    assert SECRET not in repr(rows)
