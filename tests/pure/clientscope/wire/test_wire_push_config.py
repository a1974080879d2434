"""The messages of our own, against bytes laid out by hand from KIP-1324 and KIP-482."""

from __future__ import annotations

import gc
import uuid

import pytest
from golden import as_bytes, cases
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol import metadata
from kafka.protocol.api_header import RequestHeader
from kafka.record.util import calc_crc32c
from played import push_config
from telemetry_frames import asks, pushes, subscribed

from clientscope.errors import WireError
from clientscope.session.handlers.k1324_push_config import read_configs
from clientscope.wire.codes import API_VERSIONS, CLIENT_INSTANCE_ID_TAG, CONFIG_TOO_LARGE, NONE, PUSH_CONFIG
from clientscope.wire.messages import ApiVersionsRequest, PushConfigRequest, PushConfigResponse
from clientscope.wire.telemetry import crc32c, read_push, read_subscriptions_request, write_subscription

INSTANCE_ID = uuid.UUID("01234567-89ab-4def-8123-456789abcdef")


def test_push_request_bytes() -> None:
    request = push_config(("acks", "0", 1, False), ("retries", "5", 2, True))
    request.with_header(correlation_id=7, client_id="app")
    assert request.encode(header=True, framed=True).hex(" ") == (
        "00 00 00 27 "  # 39 bytes follow
        "05 2c 00 00 00 00 00 07 00 03 61 70 70 00 "  # api key 1324, v0, correlation id 7, client id, no tags
        "03 "  # two configs
        "05 61 63 6b 73 02 30 01 00 00 "  # acks, "0", STRING, not the default, no tags
        "08 72 65 74 72 69 65 73 02 35 02 01 00 "  # retries, "5", INT, the default, no tags
        "00"
    )


def test_push_response_bytes() -> None:
    refused = PushConfigResponse(version=0, throttle_time_ms=256, error_code=CONFIG_TOO_LARGE, error_message="no")
    assert refused.encode().hex(" ") == "00 00 01 00 05 2c 03 6e 6f 00"
    accepted = PushConfigResponse(version=0)
    assert accepted.encode().hex(" ") == "00 00 00 00 00 00 00 00"
    assert PushConfigResponse.decode(accepted.encode(), version=0).error_message is None


@pytest.mark.parametrize("version", [3, 4])
def test_instance_id_is_a_tagged_field(version: int) -> None:
    request = ApiVersionsRequest(version=version, client_software_name="ab", client_software_version="1", client_instance_id=INSTANCE_ID)
    tag = "ac 0a"  # 1324 as an unsigned varint
    assert request.encode().hex(" ") == f"03 61 62 02 31 01 {tag} 10 {INSTANCE_ID.bytes.hex(' ')}"
    assert CLIENT_INSTANCE_ID_TAG == 1324


@pytest.mark.parametrize("version", range(5))
def test_without_an_id_api_versions_is_kafkas_own(version: int) -> None:
    fields = {"version": version, "client_software_name": "ab", "client_software_version": "1"}
    assert ApiVersionsRequest(**fields).encode() == metadata.ApiVersionsRequest(**fields).encode()


def test_kafka_python_finds_our_response_and_keeps_its_own() -> None:
    gc.collect()

    def response_class(api_key: int, version: int) -> str:
        header = RequestHeader(request_api_key=api_key, request_api_version=version, correlation_id=1, client_id="c")
        return header.get_response_class()[None].__module__

    assert response_class(PUSH_CONFIG, 0) == "clientscope.wire.messages"
    assert response_class(API_VERSIONS, 4) == "kafka.protocol.metadata.api_versions"


Entries = list[tuple[str, str, int, bool]]


def expected(entries: Entries) -> Entries | str:
    """What a reader makes of these settings; or why it refuses them."""
    if not entries:
        return "no_configs"
    refused = next(("bad_type" if key else "empty_key" for key, _, kind, _ in entries if not key or not 0 <= kind <= 8), None)
    return refused or ("duplicate_key" if len({key for key, *_ in entries}) < len(entries) else entries)


def in_one_pass(body: bytes) -> Entries | str:
    try:
        return read_configs(body)
    except WireError as error:
        return error.reason


settings = st.tuples(st.text(max_size=200), st.text(max_size=200), st.integers(-128, 127), st.booleans())


@given(st.lists(settings, max_size=6), st.data())
def test_f11_what_is_read_is_what_kafka_pythons_engine_reads(entries: Entries, data: st.DataObject) -> None:
    whole = bytes(push_config(*entries).encode())
    assert in_one_pass(whole) == expected(entries)
    cut = data.draw(st.integers(0, len(whole)))
    assert whole[:cut] == whole or isinstance(in_one_pass(whole[:cut]), str), "all of it, and nothing behind it"
    garbled = whole[:cut] + data.draw(st.binary(max_size=8)) + whole[cut + data.draw(st.integers(0, 8)) :]
    if isinstance(read := in_one_pass(garbled), list):
        configs = PushConfigRequest.decode(garbled, version=0).configs
        assert read == [(each.config_key, each.config_value, each.config_type, bool(each.is_default)) for each in configs]
        assert in_one_pass(garbled + b"\0") == "trailing_bytes"


@pytest.mark.parametrize(("reason", "body"), cases(__file__, "refused_pushes.txt"))
def test_f11_what_no_client_sends_is_refused_before_it_is_read(reason: str, body: str) -> None:
    assert in_one_pass(as_bytes(body)) == reason


def test_f11_the_most_and_the_longest_are_read() -> None:
    most = b"".join(b"\5%04d\2b\1\0\0" % number for number in range(512))
    assert in_one_pass(b"\x81\4" + most + b"\0") == [(f"{number:04}", "b", 1, False) for number in range(512)]
    assert in_one_pass(b"\2\2a\2b\1\0\1\7\5short\1\x63\1x") == [("a", "b", 1, False)], "unknown tagged fields are legal (KIP-482)"
    long = "x" * 127, "y" * 128, 1, False  # one byte more, and their lengths take two
    assert in_one_pass(bytes(push_config(long).encode())) == [long]


int32 = st.integers(-(2**31), 2**31 - 1)


@given(st.binary(max_size=100))
def test_the_checksum_is_kafka_pythons(data: bytes) -> None:
    assert crc32c(data) == calc_crc32c(data)


@pytest.mark.parametrize("frame", [asks(), pushes(1)])
def test_a_cut_or_longer_request_is_none(frame: bytes) -> None:
    read = read_subscriptions_request if frame[5] == 71 else read_push
    for end in range(14, len(frame)):
        with pytest.raises(WireError):
            read(frame[:end])
    with pytest.raises(WireError, match="trailing_bytes"):
        read(frame + b"\0")


@given(int32, st.uuids(), int32, st.integers(1, 2**31 - 1), st.lists(st.text(max_size=200), max_size=5), st.integers(1, 2**31 - 1))
def test_answers_are_laid_out_as_kafkas(
    correlation_id: int, instance_id: uuid.UUID, subscription: int, interval_ms: int, prefixes: list[str], most: int
) -> None:
    answer = write_subscription(correlation_id, NONE, instance_id, subscription, interval_ms, prefixes, most)
    assert subscribed(answer) == (correlation_id, 0, 0, instance_id, subscription, (1,), interval_ms, most, True, tuple(prefixes))
