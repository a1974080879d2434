"""The messages of our own, against bytes laid out by hand from KIP-1324 and KIP-482."""

from __future__ import annotations

import gc
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol import metadata
from kafka.protocol.api_header import RequestHeader

from clientscope.wire.codes import API_VERSIONS, CLIENT_INSTANCE_ID_TAG, CONFIG_TOO_LARGE, PUSH_CONFIG
from clientscope.wire.messages import ApiVersionsRequest, PushConfigRequest, PushConfigResponse
from clientscope.wire.strict import decode_body

INSTANCE_ID = uuid.UUID("01234567-89ab-4def-8123-456789abcdef")


def config(key: str, value: str, config_type: int, is_default: bool):
    return PushConfigRequest.Config(version=0, config_key=key, config_value=value, config_type=config_type, is_default=is_default)


def test_push_request_bytes() -> None:
    request = PushConfigRequest(version=0, configs=[config("acks", "0", 1, False), config("retries", "5", 2, True)])
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
    assert decode_body(PushConfigResponse, accepted.encode(), 0).error_message is None


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


def test_a_reader_that_does_not_know_the_tag_keeps_it_apart() -> None:
    body = ApiVersionsRequest(version=4, client_software_name="ab", client_software_version="1", client_instance_id=INSTANCE_ID).encode()
    read = metadata.ApiVersionsRequest.decode(body, version=4)
    assert (read.client_software_name, read.unknown_tags) == ("ab", {"_1324": INSTANCE_ID.bytes})


def test_kafka_python_finds_our_response_and_keeps_its_own() -> None:
    gc.collect()

    def response_class(api_key: int, version: int) -> str:
        header = RequestHeader(request_api_key=api_key, request_api_version=version, correlation_id=1, client_id="c")
        return header.get_response_class()[None].__module__

    assert response_class(PUSH_CONFIG, 0) == "clientscope.wire.messages"
    assert response_class(API_VERSIONS, 4) == "kafka.protocol.metadata.api_versions"


@given(st.lists(st.tuples(st.text(), st.text(), st.integers(-128, 127), st.booleans())))
def test_push_request_round_trip(configs: list[tuple[str, str, int, bool]]) -> None:
    request = PushConfigRequest(version=0, configs=[config(*entry) for entry in configs])
    assert decode_body(PushConfigRequest, request.encode(), 0) == request


@given(st.integers(0, 2**31 - 1), st.integers(-1, 2**15 - 1), st.none() | st.text())
def test_push_response_round_trip(throttle: int, code: int, message: str | None) -> None:
    response = PushConfigResponse(version=0, throttle_time_ms=throttle, error_code=code, error_message=message)
    assert decode_body(PushConfigResponse, response.encode(), 0) == response


@given(st.sampled_from([3, 4]), st.text(), st.text(), st.uuids())
def test_api_versions_round_trip(version: int, name: str, software_version: str, instance_id: uuid.UUID) -> None:
    request = ApiVersionsRequest(
        version=version, client_software_name=name, client_software_version=software_version, client_instance_id=instance_id
    )
    assert decode_body(ApiVersionsRequest, request.encode(), version) == request
