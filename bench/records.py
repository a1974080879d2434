"""Records for benchmarks: one client's, with what is given changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_args

import pyarrow as pa

from clientscope.catalog.configs import Type
from clientscope.digest import DigestKey
from clientscope.model.codec import decode, encode
from clientscope.model.connection import ClientConnectionRecord, SeriesCount
from clientscope.model.enums import Kind, Origin, PrincipalSource
from clientscope.model.input import InputRecord
from clientscope.model.push import Push, compact
from clientscope.model.result import ResultReader
from clientscope.model.setting import Setting, TypeName
from clientscope.model.topics import CONFIGS, RESULTS
from streaming.findings.inputs import EngineInput
from udfs.kernels.live import live

_PLACE = {"version": 1, "cluster": "MkU3OEVBNTcwNTJENDM2Qk", "broker": 1, "gateway": "gw", "epoch": 1}
_CLIENT = {
    "listener": "CLIENT", "security_protocol": "SASL_SSL", "address": "10.0.0.1", "principal": "User:a",
    "principal_source": PrincipalSource.SCRAM, "client_id": "orders-1", "software_name": "apache-kafka-java",
    "software_version": "4.4.0",
}  # fmt: skip
_MS = 1_700_000_000_000


def setting(key: str, value: str, type: Type = Type.INT, default: bool = False) -> Setting:
    """One of a push's settings."""
    return Setting(key, value, "default" if default else "set", get_args(TypeName)[type])


def push(settings: Iterable[Setting], **changes: Any) -> bytes:
    """A Push."""
    of_client = {"received_ms": _MS, "connection": 1, "origin": Origin.PUSHED}
    return encode(Push(**{**_PLACE, **_CLIENT, **of_client, **compact(settings), **changes}))


def connection(sequence: int, kind: Kind = Kind.OPENED, counts: tuple[SeriesCount, ...] = (), **changes: Any) -> bytes:
    """A ClientConnectionRecord."""
    event = {"kind": kind, "sequence": sequence, "timestamp_ms": _MS, "connection": sequence, "counts": counts}
    return encode(ClientConnectionRecord(**{**_PLACE, **_CLIENT, **event, **changes}))


def passed(topic: str, values: Sequence[bytes], begin: int = 0, at_ms: int = _MS, key: DigestKey | None = None) -> pa.StructArray:
    """What the live query makes of records of one partition.

    Args:
        begin: the offset of the first.
    """
    number, binary = len(values), pa.binary()
    places = pa.array([0] * number, pa.int32()), pa.array(range(begin, begin + number), pa.int64()), pa.array([at_ms] * number, pa.int64())
    return live(pa.array([topic == CONFIGS] * number), *places, pa.array(values, binary), pa.nulls(number, binary), key)


def taken(made: pa.StructArray) -> list[EngineInput]:
    """The same, as the engines take it in."""
    pairs = zip(made.field("topic").to_pylist(), made.field("value").to_pylist(), strict=True)  # no tombstone is among them
    read = ResultReader().read
    return [read(value) if topic == RESULTS else decode(InputRecord, value) for topic, value in pairs if value]
