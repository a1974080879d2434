"""wire/telemetry: requests of KIP-714 are read to their end, and answers are laid out as Kafka's JSON files say."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.util import calc_crc32c
from telemetry_frames import NO_ID, asks, push_answer, pushes, subscribed

from clientscope.errors import WireError
from clientscope.wire.telemetry import (
    PushedMetrics,
    crc32c,
    push_error,
    read_push,
    read_subscriptions_request,
    write_push_answer,
    write_subscription,
    write_subscription_error,
)

int32 = st.integers(-(2**31), 2**31 - 1)


@given(st.binary(max_size=100))
def test_the_checksum_is_kafka_pythons(data: bytes) -> None:
    assert crc32c(data) == calc_crc32c(data)


@given(st.uuids(), int32, st.booleans(), st.integers(0, 4), st.binary(max_size=300))
def test_a_push_is_read_as_it_was_written(
    instance_id: uuid.UUID, subscription: int, terminating: bool, compression: int, data: bytes
) -> None:
    frame = pushes(subscription, data, instance_id=instance_id, terminating=terminating, compression=compression)
    assert read_push(frame) == PushedMetrics(instance_id, subscription, terminating, compression, data)
    assert read_subscriptions_request(asks(instance_id)) == instance_id


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
    answer = write_subscription(correlation_id, instance_id, subscription, interval_ms, prefixes, most)
    assert subscribed(answer) == (correlation_id, 0, 0, instance_id, subscription, (1,), interval_ms, most, True, tuple(prefixes))


@given(int32, st.integers(-1, 200))
def test_errors_too(correlation_id: int, error: int) -> None:
    assert subscribed(write_subscription_error(correlation_id, error)) == (correlation_id, 0, error, NO_ID, 0, (), 0, 0, False, ())
    answer = write_push_answer(correlation_id, error)
    assert push_answer(answer) == (correlation_id, error)
    assert push_error(answer) == error
